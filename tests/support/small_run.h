// Compiles a small network, runs it on made-up samples and hands back its persistent bytes: the judge of "same result
// under every plan".
#pragma once

#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "compile/compile.h"
#include "ops/table.h"
#include "run/program.h"

namespace thimble::testing {

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

inline void fill_persistents(const Program& program) {
  for (const Program::Persistent& persistent : program.persistents()) {
    const RandomKey key = random_key(1, RandomPurpose::init, hash_text(persistent.name.data(), persistent.name.size()));
    const bool is_weight = persistent.role == Role::parameter && persistent.view.shape.rank() > 1;
    const bool is_scale = persistent.name.ends_with("weight") || persistent.name.ends_with("var");
    for (std::int64_t i = 0; i < persistent.view.shape.count(); ++i) {
      const bool is_zero = persistent.role == Role::optimizer || persistent.role == Role::accumulator;
      const double value = is_weight  ? 0.2 * static_cast<double>(random_normal(key, static_cast<std::uint64_t>(i)))
                           : is_scale ? 1.0
                                      : 0.0;
      store(persistent.view, i, is_zero ? 0.0 : value);
    }
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
  const Program program(compiled.phases, compiled.plans, arena, {configuration.poison, configuration.guard ? 64 : 0});
  fill_persistents(program);
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
    const auto bytes = static_cast<std::size_t>(persistent.view.shape.count() * bytes_of(persistent.view.dtype));
    const auto* data = static_cast<const std::byte*>(persistent.view.data);
    weights[persistent.name].assign(data, data + bytes);
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
