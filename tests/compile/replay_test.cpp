// Memory replay: the planned bytes of the zoo stand in a table beside this test. A change that moves a byte shows it in
// the diff. To accept new figures: THIMBLE_REPLAY=write build/release/tests/test_compile --gtest_filter=Replay.*
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support/small_run.h"

namespace thimble {
namespace {

constexpr const char* kTable = "tests/compile/planned_bytes.txt";

struct Row {
  const char* model;
  Shape sample;
  std::int64_t batch, microbatch;
  OptimizerKind optimizer;
  DType precision = DType::f32;
  Master master = Master::f32;
  double sparsity = 0;
  bool smallest = false;
};

std::string describe(const Row& row) {
  std::ostringstream text;
  text << row.model << " " << to_text(row.sample) << " batch " << row.batch << " microbatch " << row.microbatch << " "
       << name_of(row.optimizer) << " " << name_of(row.precision) << (row.master == Master::none ? " no-master" : "")
       << " sparsity " << row.sparsity << (row.smallest ? " smallest" : "");
  return text.str();
}

std::string planned(const Row& row) {
  CompileRequest request;
  request.model = {.name = row.model, .sample = row.sample};
  request.batch = row.batch;
  request.microbatch = row.microbatch;
  request.optimizer.kind = row.optimizer;
  request.precision = row.precision;
  request.master = row.master;
  request.sparsity = row.sparsity;
  request.allowed = {"microbatch-norm"};
  request.target = {Isa::avx2, 2};  // a fixed target: workspace depends on it
  if (row.smallest) request.tensor_memory = 1;
  const CompileResult result = compile(request, op_table(), cpu_kernels());
  const Compiled& compiled = result.compiled ? *result.compiled : *result.smallest;
  std::ostringstream text;
  text << describe(row) << ": arena " << compiled.plans.arena_bytes << " persistent " << compiled.plans.persistent_bytes
       << " baseline " << compiled.baseline_bytes;
  return text.str();
}

TEST(Replay, PlannedBytesAreThoseOfTheTable) {
  if (!includes(kLargestIsa, Isa::avx2)) GTEST_SKIP() << "the table is of avx2, which this build has no kernels for";
  using enum OptimizerKind;
  const Row rows[] = {
      {"wrn28-2", {32, 32, 3}, 100, 100, nesterov},
      {"wrn28-2", {32, 32, 3}, 100, 10, nesterov},
      {"wrn28-2", {32, 32, 3}, 100, 10, nesterov, DType::bf16, Master::none, 0.8},
      {"wrn28-2-gn", {32, 32, 3}, 100, 4, momentum},
      {"wrn28-2-gn", {32, 32, 3}, 100, 4, adamw, DType::bf16},
      {"wrn16-1", {32, 32, 3}, 32, 32, sgd, DType::f32, Master::f32, 0, true},
      {"resnet18", {32, 32, 3}, 32, 32, nesterov},
      {"resnet18", {224, 224, 3}, 8, 8, momentum},
      {"resnet18-gn", {224, 224, 3}, 8, 2, adamw},
      {"lenet-300-100", {28, 28, 1}, 100, 100, nesterov},
      {"lenet-300-100", {28, 28, 1}, 100, 25, adamw, DType::f32, Master::f32, 0.9},
  };
  std::string table;
  for (const Row& row : rows) table += planned(row) + "\n";
  const char* mode = std::getenv("THIMBLE_REPLAY");
  if (mode != nullptr && std::string(mode) == "write") std::ofstream(kTable) << table;
  std::ostringstream known;
  known << std::ifstream(kTable).rdbuf();
  EXPECT_EQ(known.str(), table);
}

}  // namespace
}  // namespace thimble
