// Compiles a small network, runs it on made-up samples and hands back its persistent bytes: the judge of "same result
// under every plan".
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "compile/compile.h"
#include "ops/table.h"
#include "run/program.h"

namespace thimble::testing {

// What any machine of this architecture plans for: figures then do not depend on the one at hand.
constexpr Isa kPlannedIsa = kLargestIsa == Isa::neon ? Isa::neon : Isa::avx2;

using Weights = std::map<std::string, std::vector<std::byte>>;

inline CompileRequest small_request(const std::string& model, std::int64_t batch) {
  CompileRequest request;
  request.model.name = model;
  request.model.sample = model.starts_with("lenet") ? Shape{8, 8, 1} : Shape{8, 8, 3};
  request.model.classes = 5;
  request.batch = batch;
  request.optimizer.kind = OptimizerKind::nesterov;
  request.optimizer.weight_decay = 5e-4;
  request.allowed = {"microbatch-norm"};
  request.target = {detect_isa(), 1};
  return request;
}

// A persistent value's bytes wherever they live, and the way back for what was written to them.
class PersistentBytes {
 public:
  PersistentBytes(const Program::Persistent& persistent, SpillFile* file) : persistent_(persistent), file_(file) {
    bytes_.resize(static_cast<std::size_t>(persistent.view.shape.count() * bytes_of(persistent.view.dtype)));
    if (persistent.spill_offset >= 0) {
      is_good_ = file_->read(persistent.spill_offset, bytes_) == Status::good;
    } else {
      std::memcpy(bytes_.data(), persistent.view.data, bytes_.size());
    }
  }

  bool is_good() const { return is_good_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  TensorView view() { return {bytes_.data(), persistent_.view.dtype, persistent_.view.shape}; }
  void put_back() {
    if (persistent_.spill_offset >= 0) {
      is_good_ = file_->write(persistent_.spill_offset, bytes_) == Status::good && is_good_;
    } else {
      std::memcpy(persistent_.view.data, bytes_.data(), bytes_.size());
    }
  }

 private:
  const Program::Persistent& persistent_;
  SpillFile* file_;
  std::vector<std::byte> bytes_;
  bool is_good_ = true;
};

inline void fill_persistents(const Program& program, SpillFile* file = nullptr) {
  for (const Program::Persistent& persistent : program.persistents()) {
    PersistentBytes target(persistent, file);
    const RandomKey key = random_key(1, RandomPurpose::init, hash_text(persistent.name.data(), persistent.name.size()));
    const bool is_weight = persistent.role == Role::parameter && persistent.view.shape.rank() > 1;
    const bool is_scale = persistent.name.ends_with("weight") || persistent.name.ends_with("var");
    for (std::int64_t i = 0; i < persistent.view.shape.count(); ++i) {
      const bool is_zero = persistent.role == Role::optimizer || persistent.role == Role::accumulator;
      const double value = is_weight  ? 0.2 * static_cast<double>(random_normal(key, static_cast<std::uint64_t>(i)))
                           : is_scale ? 1.0
                                      : 0.0;
      store(target.view(), i, is_zero ? 0.0 : value);
    }
    target.put_back();
  }
}

inline void fill_inputs(const Program& program, int phase, std::int64_t first) {
  const TensorView images = program.input(phase, kImages), labels = program.input(phase, kLabels);
  const RandomKey key = random_key(2, RandomPurpose::test, 0);
  const std::int64_t features = images.shape.count() / images.shape[0];
  for (std::int64_t i = 0; i < images.shape.count(); ++i) {
    store(images, i, static_cast<double>(random_normal(key, static_cast<std::uint64_t>(first * features + i))));
  }
  for (std::int64_t i = 0; i < labels.shape.count(); ++i) store(labels, i, static_cast<double>((first + i) % 5));
}

inline Weights run_compiled(const Compiled& compiled, int iterations) {
  const Configuration& configuration = compiled.request.configuration;
  Arena arena(compiled.plans.arena_bytes);
  // Whatever a plan forgets to write must show: NaN in every floating type.
  std::memset(arena.data(), 0xFF, static_cast<std::size_t>(arena.bytes()));
  std::optional<SpillFile> file;
  std::optional<Mover> mover;
  if (compiled.plans.spill_bytes > 0) {
    file.emplace(::testing::TempDir(), compiled.plans.spill_bytes,
                 std::span(arena.data(), static_cast<std::size_t>(compiled.plans.staging.bytes)));
    mover.emplace(*file, 4);
  }
  SpillFile* spill = file ? &*file : nullptr;
  const Program program(compiled.phases, compiled.plans, arena, {configuration.poison, configuration.guard_bytes()},
                        mover ? &*mover : nullptr);
  fill_persistents(program, spill);
  std::int64_t seen = 0;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    for (const PhaseTurn& turn : iteration_turns(compiled.request.batch, compiled.microbatch)) {
      const int phase = program.phase_index(turn.phase);
      fill_inputs(program, phase, seen + turn.offset);
      RunScalars scalars{.seed = 3, .iteration = iteration, .sample_offset = turn.offset};
      scalars.inverse_batch = 1.0F / static_cast<float>(compiled.request.batch);
      scalars.learning_rate = 0.05F;
      if (program.run(phase, scalars) != Status::good) return {};
    }
    seen += compiled.request.batch;
  }
  if (program.damaged_guards() != 0) return {};
  Weights weights;
  for (const Program::Persistent& persistent : program.persistents()) {
    const PersistentBytes found(persistent, spill);
    if (!found.is_good()) return {};
    weights[persistent.name] = found.bytes();
  }
  return weights;
}

inline Weights run_request(const CompileRequest& request, int iterations) {
  const CompileResult result = compile(request, op_table(), cpu_kernels());
  return result.compiled ? run_compiled(*result.compiled, iterations) : Weights{};
}

// Largest relative L2 distance over the f32 tensors that both have.
inline double distance(const Weights& a, const Weights& b) {
  double worst = 0;
  for (const auto& [name, bytes] : a) {
    const auto other = b.find(name);
    if (other == b.end() || other->second.size() != bytes.size() || name.starts_with("mask") ||
        name.starts_with("sum/") || name == kLoss || name == kHits)  // of the last microbatch alone
      continue;
    double difference = 0, norm = 1e-12;
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
      float x = 0, y = 0;
      std::memcpy(&x, bytes.data() + i, 4);
      std::memcpy(&y, other->second.data() + i, 4);
      difference += (static_cast<double>(x) - y) * (static_cast<double>(x) - y);
      norm += static_cast<double>(x) * x;
    }
    const double relative = std::sqrt(difference / norm);
    if (!(relative <= worst)) worst = relative;
  }
  return worst;
}

}  // namespace thimble::testing
