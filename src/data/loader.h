// Hands out batches of a data set straight into the caller's memory. Which samples a batch holds, and what they look
// like, is a pure function of the options and the position: there is no order to store, nothing to run forward after a
// resume, and any part of a batch can be made by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/call.h"
#include "data/augment.h"
#include "data/dataset.h"

namespace thimble {

struct LoaderOptions {
  Split split = Split::train;
  std::int64_t batch = 1;
  std::uint64_t seed = 0;
  bool shuffle = true;  // another order each epoch; false: the order of the data set
  Augmentation augmentation = Augmentation::none;
  bool drop_last = false;  // leave out the ragged last batch of an epoch
  int threads = 1;         // changes no result
};

// The whole state of a pass through the data.
struct LoaderPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  // within the epoch
  friend bool operator==(const LoaderPosition&, const LoaderPosition&) = default;
};

// What loaders hold while they fill: a sample, its mask if there are masks, and a workspace a thread. Loaders that take
// turns may share it.
class LoaderMemory {
 public:
  LoaderMemory(const Dataset& dataset, int threads);

  std::span<std::uint8_t> pixels(int thread) { return part(pixels_, thread); }
  std::span<std::uint8_t> mask(int thread) { return part(masks_, thread); }
  std::span<std::byte> workspace(int thread) { return part(workspaces_, thread); }
  int threads() const { return threads_; }
  Bytes bytes() const { return static_cast<Bytes>(pixels_.size() + masks_.size() + workspaces_.size()); }

 private:
  template <typename T>
  std::span<T> part(std::vector<T>& all, int thread) const {
    const std::size_t size = all.size() / static_cast<std::size_t>(threads_);
    return std::span(all).subspan(static_cast<std::size_t>(thread) * size, size);
  }

  int threads_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::uint8_t> masks_;
  std::vector<std::byte> workspaces_;
};

// What reading samples holds outside the arena, for the plan: the memory above and what the data set itself holds.
Bytes loading_bytes(const Dataset& dataset, int threads);

class Loader {
 public:
  // Data set and memory must outlive the loader. The memory is for as many threads or more.
  Loader(const Dataset& dataset, const LoaderOptions& options, LoaderMemory& memory)
      : Loader(dataset, options, &memory) {}
  Loader(const Dataset& dataset, const LoaderOptions& options) : Loader(dataset, options, nullptr) {}  // with its own
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  std::int64_t batches_per_epoch() const { return batches_per_epoch_; }  // with the ragged one, unless dropped
  std::int64_t samples_in(LoaderPosition position) const;                // the batch size, or fewer in a ragged batch
  LoaderPosition position_of(std::int64_t iteration) const;              // batches counted from the first epoch's first
  LoaderPosition next(LoaderPosition position) const;
  std::int64_t sample_index(LoaderPosition position, std::int64_t place) const;  // in the data set

  // Samples first .. first + count - 1 of the batch at `position`, into the first `count` rows of `images` (n, H, W,
  // C), f32 or bf16, and `labels` (n), or (n, H, W) of a data set with masks, i32; further rows are left alone.
  // UserError if the data set's files fail. One call at a time.
  void fill(LoaderPosition position, std::int64_t first, std::int64_t count, const TensorView& images,
            const TensorView& labels);

  Bytes buffer_bytes() const { return memory_->bytes(); }

 private:
  Loader(const Dataset& dataset, const LoaderOptions& options, LoaderMemory* memory);  // null: with its own
  void check(LoaderPosition position, std::int64_t first, std::int64_t count, const TensorView& images,
             const TensorView& labels) const;
  void fill_row(LoaderPosition position, std::int64_t place, std::int64_t row, int thread, const TensorView& images,
                const TensorView& labels) const;
  std::int32_t read(std::int64_t epoch, std::int64_t sample, int thread) const;
  void read_masked(std::int64_t epoch, std::int64_t sample, int thread) const;
  CropFlip crop_flip_of(std::int64_t epoch, std::int64_t sample) const;
  Shape labels_of(std::int64_t samples) const;  // the shape of their labels

  const Dataset& dataset_;
  LoaderOptions options_;
  Normalizer normalizer_;
  std::int64_t batches_per_epoch_ = 0;
  std::optional<LoaderMemory> own_memory_;
  LoaderMemory* memory_;
};

}  // namespace thimble
