#include "measure/rehearsal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "formats/support.h"
#include "measure/machine.h"
#include "ops/table.h"

namespace thimble::testing {
namespace {

CompileRequest small_request() {
  CompileRequest request;
  request.model = {.name = "wrn10-1-gn", .sample = {16, 16, 3}};
  request.batch = 6;
  request.target = {.isa = detect_isa(), .threads = 2};
  return request;
}

Compiled compiled_for(const CompileRequest& request) {
  CompileResult result = compile(request, op_table(), cpu_kernels());
  ensure(result.compiled.has_value(), "test: does not fit");
  return std::move(*result.compiled);
}

std::size_t step_count(const Compiled& compiled) {
  std::size_t count = 0;
  for (const PhaseTurn& turn : iteration_turns(compiled.request.batch, compiled.microbatch)) {
    for (std::size_t p = 0; p < compiled.phases.size(); ++p) {
      if (compiled.plans.phases[p].phase != turn.phase) continue;
      for (const PlannedStep& step : compiled.plans.phases[p].steps)
        count += step.is_transfer() || !compiled.phases[p].graph().node(step.node).op->is_view ? 1 : 0;
    }
  }
  return count;
}

void expect_every_step_timed(Compiled compiled, const RehearsalOptions& options) {
  const std::size_t expected = step_count(compiled);
  const BenchTimes times = rehearse(compiled, options);
  EXPECT_EQ(times.steps.size(), expected);
  EXPECT_EQ(times.iteration_seconds.size(), static_cast<std::size_t>(options.iterations));
  for (const TimedStep& step : times.steps) {
    ASSERT_LT(step.work, times.works.size());
    ASSERT_EQ(step.seconds.size(), static_cast<std::size_t>(options.iterations));
    for (const double seconds : step.seconds) EXPECT_GE(seconds, 0);
  }
}

TEST(Rehearsal, TimesEveryStepOfAnIteration) {
  expect_every_step_timed(compiled_for(small_request()), {.iterations = 3});
}

TEST(Rehearsal, TimesTheStepsOfEveryMicrobatch) {
  CompileRequest request = small_request();
  request.microbatch = 2;
  expect_every_step_timed(compiled_for(request), {.iterations = 1});
}

TEST(Rehearsal, RecomputedStepsAreCallsOfTheSameKernel) {
  CompileRequest request = small_request();
  request.microbatch = 6;
  request.tensor_memory = 1;
  const Bytes smallest = compile(request, op_table(), cpu_kernels()).smallest_tensor_bytes;
  const std::size_t usual = step_count(compiled_for(small_request()));
  request.tensor_memory = smallest;
  Compiled compiled = compiled_for(request);
  ASSERT_GT(compiled.point.recompute_flops_ratio, 0);
  const BenchTimes times = rehearse(compiled, {.iterations = 1});
  EXPECT_GT(times.steps.size(), usual);
  std::set<std::string> uses;
  for (const KernelWork& work : times.works) EXPECT_TRUE(uses.insert(work.use).second) << work.use;
}

TEST(Rehearsal, TransfersAreStepsToo) {
  const TempFolder folder;
  CompileRequest request = small_request();
  request.microbatch = 6;
  request.allowed = {"offload"};
  request.tensor_memory = 1;
  request.tensor_memory = compile(request, op_table(), cpu_kernels()).smallest_tensor_bytes;
  Compiled compiled = compiled_for(request);
  ASSERT_GT(compiled.plans.spill_bytes, 0);
  expect_every_step_timed(std::move(compiled), {.iterations = 1, .spill_folder = folder.path()});
}

TEST(Rehearsal, RandomKeysDoNotTellUsesApart) {
  CompileRequest request = small_request();
  request.precision = DType::bf16;
  request.master = Master::none;
  Compiled compiled = compiled_for(request);
  for (const KernelWork& work : rehearse(compiled, {.iterations = 1}).works)
    EXPECT_EQ(work.use.find("key="), std::string::npos) << work.use;
}

TEST(Roofs, OfThisMachineAreNumbers) {
  const Roofs roofs = measure_roofs({.isa = detect_isa(), .threads = 1});
  EXPECT_TRUE(std::isfinite(roofs.flops_per_second) && roofs.flops_per_second > 0);
  EXPECT_TRUE(std::isfinite(roofs.bytes_per_second) && roofs.bytes_per_second > 0);
  EXPECT_TRUE(std::isfinite(roofs.read_bytes_per_second) && roofs.read_bytes_per_second > 0);
}

void write_cache(const std::string& folder, const std::string& level, const std::string& size) {
  std::filesystem::create_directories(folder);
  write_text_file(folder + "/level", level + "\n");
  write_text_file(folder + "/size", size + "\n");
}

TEST(Machine, TheLastCacheIsTheOneOfTheHighestLevel) {
  const TempFolder folder;
  EXPECT_EQ(last_level_cache_bytes(folder.path()), 0);
  write_cache(folder / "index0", "1", "32K");
  write_cache(folder / "index1", "1", "32K");
  EXPECT_EQ(last_level_cache_bytes(folder.path()), 32 * kKiB);
  write_cache(folder / "index2", "3", "32M");
  write_cache(folder / "index3", "2", "1024K");
  EXPECT_EQ(last_level_cache_bytes(folder.path()), 32 * kMiB);
}

TEST(Machine, SizesThatMakeNoSenseAreNotBelieved) {
  const TempFolder folder;
  write_cache(folder / "index0", "2", "1024K");
  for (const char* size : {"", "-5K", "99999999999999999999K", "9999999999M", "12Q", "abc"}) {
    write_cache(folder / "index1", "3", size);
    EXPECT_EQ(last_level_cache_bytes(folder.path()), 1024 * kKiB) << size;
  }
}

}  // namespace
}  // namespace thimble::testing
