// Our half of bench/vs_pytorch: a network's training step on resident random data, run a few iterations at a time on
// demand.
//   thimble_bench_throughput NETWORK[@SIZE] BATCH f32|bf16 THREADS [MIB]
// MIB is a budget for the whole process, which asks of the system what the program does; without it nothing is bounded.
// Answers one line of JSON to each line of standard input: "run N" with the seconds of N iterations, "memory" with the
// most that was ever resident. Says "ready" first.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

#include "base/error.h"
#include "base/random.h"
#include "cli/process.h"
#include "compile/compile.h"
#include "compile/phases.h"
#include "ops/table.h"
#include "run/meter.h"
#include "run/program.h"

namespace thimble {
namespace {

constexpr float kLearningRate = 0.01F;

CompileRequest make_request(const std::string& network, std::int64_t batch, const std::string& mode, int threads) {
  CompileRequest request;
  const std::size_t at = network.find('@');
  request.model.name = network.substr(0, at);
  request.model.sample = default_sample(request.model.name);
  if (at != std::string::npos) {
    const std::int64_t size = std::atoll(network.c_str() + at + 1);
    request.model.sample = {size, size, request.model.sample[2]};
  }
  require(mode == "f32" || mode == "bf16", "mode: found '", mode, "', wanted f32 or bf16");
  request.precision = mode == "bf16" ? DType::bf16 : DType::f32;
  request.batch = batch;
  request.optimizer = {.kind = OptimizerKind::momentum, .weight_decay = 5e-4};
  request.target = {detect_isa(), threads};
  return request;
}

// The speed does not depend on the numbers as long as they stay finite: small weights, norms of one.
void fill_state(const Program& program, const std::vector<TensorSpec>& tensors) {
  for (const Program::Persistent& persistent : program.persistents()) {
    for (std::int64_t i = 0; i < persistent.view.shape.count(); ++i) store(persistent.view, i, 0);
  }
  for (const TensorSpec& spec : tensors) {
    const TensorView view = program.persistent(spec.name);
    const RandomKey key = random_key(0, RandomPurpose::init, hash_text(spec.name.data(), spec.name.size()));
    for (std::int64_t i = 0; i < view.shape.count(); ++i) {
      const auto draw = static_cast<double>(random_normal(key, static_cast<std::uint64_t>(i)));
      store(view, i, spec.init == Init::ones ? 1 : spec.init == Init::zeros ? 0 : spec.scale * draw);
    }
  }
}

void fill_inputs(const Program& program, int phase, std::int64_t classes) {
  const TensorView images = program.input(phase, kImages), labels = program.input(phase, kLabels);
  const RandomKey key = random_key(0, RandomPurpose::test, 0);
  for (std::int64_t i = 0; i < images.shape.count(); ++i) {
    store(images, i, static_cast<double>(random_normal(key, static_cast<std::uint64_t>(i))));
  }
  for (std::int64_t i = 0; i < labels.shape.count(); ++i) store(labels, i, static_cast<double>(i % classes));
}

class Bench {
 public:
  // Graphs and plans go when the program is bound, as in a training run; only then is the arena touched.
  Bench(const CompileRequest& request, Compiled compiled)
      : request_(request), arena_(compiled.plans.arena_bytes), program_(compiled.phases, compiled.plans, arena_, {}) {
    for (const PhaseTurn& turn : iteration_turns(request.batch, compiled.microbatch)) {
      turns_.push_back({program_.phase_index(turn.phase), turn.offset});
      ensure(turns_.back().phase >= 0, "throughput: there is no phase for a microbatch of ", compiled.microbatch);
    }
    const std::vector<TensorSpec> tensors = std::move(compiled.tensors);
    compiled = {};
    cli::release_idle_memory();
    arena_.touch();
    fill_state(program_, tensors);
  }

  // The inputs share the arena with later values of the step, so they are put back before each iteration, outside the
  // clock.
  double run(std::int64_t count) {
    double seconds = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      RunScalars scalars;
      scalars.iteration = iteration_++;
      scalars.inverse_batch = 1.0F / static_cast<float>(request_.batch);
      scalars.learning_rate = kLearningRate;
      for (const Turn& turn : turns_) {
        restore_inputs(turn.phase);
        scalars.sample_offset = turn.offset;
        const auto begin = std::chrono::steady_clock::now();
        ensure(program_.run(turn.phase, scalars) == Status::good, "throughput: a step failed");
        seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      }
    }
    return seconds;
  }

  void serve() {
    const Shape& sample = request_.model.sample;
    std::printf("{\"ready\": true, \"arena_bytes\": %lld, \"sample\": [%lld, %lld, %lld]}\n",
                static_cast<long long>(arena_.bytes()), static_cast<long long>(sample[0]),
                static_cast<long long>(sample[1]), static_cast<long long>(sample[2]));
    std::fflush(stdout);
    for (std::string line; std::getline(std::cin, line);) {
      if (line.starts_with("run ")) {
        std::printf("{\"seconds\": %.9f}\n", run(std::atoll(line.c_str() + 4)));
      } else {
        std::printf("{\"peak_bytes\": %lld}\n", static_cast<long long>(peak_resident_bytes()));
      }
      std::fflush(stdout);
    }
  }

 private:
  struct Turn {
    int phase = 0;
    std::int64_t offset = 0;
  };

  void restore_inputs(int phase) {
    const TensorView images = program_.input(phase, kImages), labels = program_.input(phase, kLabels);
    const auto image_bytes = static_cast<std::size_t>(images.shape.count() * bytes_of(images.dtype));
    const auto label_bytes = static_cast<std::size_t>(labels.shape.count() * bytes_of(labels.dtype));
    if (images_.size() < image_bytes) {
      fill_inputs(program_, phase, request_.model.classes);
      images_.assign(images.as<std::byte>(), images.as<std::byte>() + image_bytes);
      labels_.assign(labels.as<std::byte>(), labels.as<std::byte>() + label_bytes);
    }
    std::memcpy(images.data, images_.data(), image_bytes);
    std::memcpy(labels.data, labels_.data(), label_bytes);
  }

  CompileRequest request_;
  Arena arena_;
  Program program_;
  std::vector<Turn> turns_;
  std::int64_t iteration_ = 0;
  std::vector<std::byte> images_, labels_;
};

}  // namespace
}  // namespace thimble

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) {
    std::fprintf(stderr, "usage: thimble_bench_throughput NETWORK[@SIZE] BATCH f32|bf16 THREADS [MIB]\n");
    return 1;
  }
  thimble::cli::prepare_process();
  try {
    auto request = thimble::make_request(argv[1], std::atoll(argv[2]), argv[3], std::atoi(argv[4]));
    if (argc == 6) request.memory = std::atoll(argv[5]) << 20;
    auto result = thimble::compile_apart(request, thimble::op_table(), thimble::cpu_kernels());
    thimble::require(result.compiled.has_value(), "throughput: found a budget of ", argv[argc - 1], " MiB, wanted ",
                     result.smallest_memory, " B or more");
    thimble::Bench(request, std::move(*result.compiled)).serve();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
