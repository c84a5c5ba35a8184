// Trains a small network for a few iterations through the installed libraries and has an impossible budget refused.
#include <atomic>
#include <cstdio>

#include "base/isa.h"
#include "data/glyphs.h"
#include "kernels/kernel.h"
#include "ops/table.h"
#include "train/train.h"

namespace {

thimble::TrainResult train_within(thimble::Bytes tensor_memory) {
  thimble::TrainOptions options;
  options.compile.model.name = "lenet-300-100";
  options.compile.batch = 8;
  options.compile.target = {thimble::detect_isa(), 1};
  options.compile.tensor_memory = tensor_memory;
  options.iterations = 3;
  const auto glyphs = thimble::open_glyphs({.seed = 1, .train_count = 64, .test_count = 16});
  thimble::TrainObserver observer;
  const std::atomic<bool> stop = false;
  return thimble::train(options, *glyphs, thimble::op_table(), thimble::cpu_kernels(), observer, stop);
}

}  // namespace

int main() {
  constexpr thimble::Bytes kEnough = 64 * 1024 * 1024, kTooLittle = 1024;
  const thimble::TrainResult trained = train_within(kEnough);
  const thimble::TrainResult refused = train_within(kTooLittle);
  std::printf("%lld iterations in %lld bytes; a budget of %lld bytes is refused for %lld\n",
              static_cast<long long>(trained.iterations), static_cast<long long>(trained.arena_bytes),
              static_cast<long long>(kTooLittle), static_cast<long long>(refused.compile.smallest_tensor_bytes));
  const bool has_trained = trained.end == thimble::TrainEnd::finished && trained.iterations == 3 &&
                           trained.arena_bytes > kTooLittle && trained.arena_bytes <= kEnough;
  const bool has_refused = refused.end == thimble::TrainEnd::does_not_fit &&
                           refused.compile.smallest_tensor_bytes > kTooLittle &&
                           refused.compile.smallest_tensor_bytes <= trained.arena_bytes;
  return has_trained && has_refused ? 0 : 1;
}
