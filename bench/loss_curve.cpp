// Our half of bench/loss_curve: trains on CIFAR-10 in the order of its files, without augmentation, from the weights
// that seed 0 draws, and prints one line of JSON: normalisation, then the loss of every iteration.
//   thimble_bench_loss_curve NETWORK BATCH ITERATIONS LEARNING_RATE THREADS DATA_ROOT
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "compile/compile.h"
#include "data/loader.h"
#include "data/open.h"
#include "ops/table.h"
#include "train/initialize.h"
#include "train/session.h"

namespace thimble {
namespace {

struct Options {
  std::string network;
  std::int64_t batch = 0;
  std::int64_t iterations = 0;
  float learning_rate = 0;
  int threads = 0;
  std::string data_root;
};

Compiled compile_for(const Options& options, const Dataset& dataset) {
  CompileRequest request;
  request.model.name = options.network;
  request.model.sample = dataset.info().sample_shape;
  request.model.classes = dataset.class_count();
  request.batch = options.batch;
  request.optimizer = {.kind = OptimizerKind::nesterov, .weight_decay = 5e-4};
  request.target = {detect_isa(), options.threads};
  return *compile(request, op_table(), cpu_kernels()).compiled;
}

void print_list(const char* name, const std::vector<float>& values) {
  std::printf("\"%s\": [", name);
  for (std::size_t i = 0; i < values.size(); ++i)
    std::printf("%s%.9g", i > 0 ? ", " : "", static_cast<double>(values[i]));
  std::printf("], ");
}

void run(const Options& options) {
  const auto dataset = open_dataset("cifar10", {.data_root = options.data_root});
  Compiled compiled = compile_for(options, *dataset);
  Session session(compiled);
  initialize(session.state(), {.seed = 0, .threads = options.threads});
  Loader loader(*dataset, {.batch = options.batch, .shuffle = false, .drop_last = true, .threads = options.threads});
  std::vector<float> losses;
  for (std::int64_t iteration = 0; iteration < options.iterations; ++iteration) {
    const RunScalars scalars = {.iteration = iteration, .learning_rate = options.learning_rate};
    losses.push_back(static_cast<float>(session.train(loader, loader.position_of(iteration), scalars).loss));
  }
  std::printf("{");
  print_list("mean", dataset->info().mean);
  print_list("deviation", dataset->info().deviation);
  print_list("losses", losses);
  std::printf("\"isa\": \"%s\"}\n", std::string(name_of(detect_isa())).c_str());
}

}  // namespace
}  // namespace thimble

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: thimble_bench_loss_curve NETWORK BATCH ITERATIONS LEARNING_RATE THREADS DATA_ROOT\n");
    return 1;
  }
  try {
    thimble::run({argv[1], std::atoll(argv[2]), std::atoll(argv[3]), static_cast<float>(std::atof(argv[4])),
                  std::atoi(argv[5]), argv[6]});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
