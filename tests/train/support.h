// What the tests of training share: a data set of tiny pictures, short runs of it, and an observer that remembers.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "formats/checkpoint_store.h"
#include "formats/safetensors.h"
#include "formats/support.h"
#include "kernels/kernel.h"
#include "ops/table.h"
#include "train/train.h"

namespace thimble::testing {

// Pictures of 8x8 pixels in four classes: one quarter is brighter than the noise around it.
class TinyDataset final : public Dataset {
 public:
  explicit TinyDataset(std::int64_t train_count = 24, std::int64_t test_count = 10, std::int64_t channels = 3)
      : Dataset({.name = "tiny",
                 .sample_shape = {8, 8, channels},
                 .class_names = {"upper left", "upper right", "lower left", "lower right"},
                 .train_count = train_count,
                 .test_count = test_count,
                 .mean = std::vector<float>(static_cast<std::size_t>(channels), 0.4F),
                 .deviation = std::vector<float>(static_cast<std::size_t>(channels), 0.25F)}) {}

  std::int32_t read(Split split, std::int64_t index, std::span<std::uint8_t> pixels) const override {
    const RandomKey key = random_key(static_cast<std::uint64_t>(split), RandomPurpose::test, 1);
    const std::int64_t channels = info().sample_shape[2];
    const auto label = static_cast<std::int32_t>(index % class_count());
    for (std::size_t k = 0; k < pixels.size(); ++k) {
      const std::int64_t pixel = static_cast<std::int64_t>(k) / channels, row = pixel / 8, column = pixel % 8;
      const bool is_bright = (row >= 4 ? 2 : 0) + (column >= 4 ? 1 : 0) == label;
      const std::uint64_t noise = random_below(key, static_cast<std::uint64_t>(index) * pixels.size() + k, 128);
      pixels[k] = static_cast<std::uint8_t>(noise + (is_bright ? 100 : 20));
    }
    return label;
  }
};

class Recorder final : public TrainObserver {
 public:
  void on_note(const std::string& note) override { notes.push_back(note); }
  void on_iteration(const IterationFacts& facts) override {
    iterations.push_back(facts);
    if (facts.iteration == stop_after) stop = true;
  }
  void on_evaluation(const EvaluationFacts& facts) override { evaluations.push_back(facts); }
  void on_checkpoint(const std::string& path) override { checkpoints.push_back(path); }

  std::vector<std::string> notes;
  std::vector<IterationFacts> iterations;
  std::vector<EvaluationFacts> evaluations;
  std::vector<std::string> checkpoints;
  std::int64_t stop_after = -1;
  std::atomic<bool> stop = false;
};

// A run of 20 iterations of 8 samples in microbatches of 4.
inline TrainOptions short_run(const std::string& out_folder, const std::string& model = "wrn10-1-gn") {
  TrainOptions options;
  options.compile.model.name = model;
  options.compile.batch = 8;
  options.compile.microbatch = 4;
  options.compile.recompute = Recompute::none;
  options.compile.target = {.isa = detect_isa(), .threads = 1};
  options.learning_rate.peak = 0.05;
  options.iterations = 20;
  options.seed = 3;
  options.evaluate_every = 1'000'000;  // only at the end
  options.save_every = 1'000'000;
  options.out_folder = out_folder;
  return options;
}

inline TrainResult run(const TrainOptions& options, const Dataset& dataset, Recorder& recorder) {
  return train(options, dataset, op_table(), cpu_kernels(), recorder, recorder.stop);
}

inline TrainResult run(const TrainOptions& options, const Dataset& dataset = TinyDataset()) {
  Recorder recorder;
  return run(options, dataset, recorder);
}

inline std::string newest_checkpoint(const std::string& folder) {
  const FoundCheckpoint found = find_newest_complete(folder, Check::hashes);
  ensure(found.newest.has_value(), "test: no checkpoint in ", folder);
  return found.newest->path;
}

// Every byte that decides how the run goes on.
inline std::string state_of(const std::string& folder) {
  return read_text_file(newest_checkpoint(folder) + "/state.safetensors");
}

// All trained numbers of the newest checkpoint as one vector.
inline std::vector<float> weights_of(const std::string& folder) {
  const SafetensorsFile file(open_to_read(newest_checkpoint(folder) + "/model.safetensors"));
  std::vector<float> weights;
  for (std::int64_t i = 0; i < file.table().count(); ++i) {
    const StoredTensor tensor = file.table().at(i);
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes));
    for (std::size_t offset = 0; offset < bytes.size(); offset += static_cast<std::size_t>(kChunkBytes)) {
      const std::size_t count = std::min(bytes.size() - offset, static_cast<std::size_t>(kChunkBytes));
      file.read(tensor, static_cast<Bytes>(offset), std::span(bytes).subspan(offset, count));
    }
    const TensorView view{bytes.data(), *dtype_of(tensor.type), tensor.shape};
    for (std::int64_t k = 0; k < tensor.shape.count(); ++k) weights.push_back(static_cast<float>(load(view, k)));
  }
  return weights;
}

// |a - b| / |b|
inline double relative_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += static_cast<double>(a[i] - b[i]) * static_cast<double>(a[i] - b[i]);
    size += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return a.size() == b.size() ? std::sqrt(difference / size) : 1e9;
}

}  // namespace thimble::testing
