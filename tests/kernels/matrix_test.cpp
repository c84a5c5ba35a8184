// Kernels for matrix registers: what holds beyond agreement with the references, which conv_test.cpp asks of all.
#include <gtest/gtest.h>

#include "base/matrix_registers.h"
#include "kernels/support/kernel_lookup.h"
#include "kernels/support/kernel_run.h"
#include "kernels/support/matrix_emulator.h"
#include "ops/table.h"

namespace thimble::testing {
namespace {

TEST(Matrix, ASmallProductComesOutRight) {
  if (tested_isa() != Isa::amx_bf16) GTEST_SKIP() << "this machine has no pairs of bf16 either: nothing to emulate on";
  EXPECT_TRUE(multiplies_in_matrix_registers());
}

const Kernel* chosen_for(const OpCase& c, Isa isa) {
  const std::vector<Type> out = c.out();
  const Kernel* best = nullptr;
  for (const Kernel* kernel : cpu_kernels()) {
    if (kernel->op != c.op->name || !includes(isa, kernel->isa) || !kernel->refuse(query_of(c, out, 2)).empty())
      continue;
    if (best == nullptr || kernel->rank > best->rank) best = kernel;
  }
  return best;
}

OpCase convolution(const Shape& x, std::int64_t outs, std::int64_t kernel, DType dtype, std::int64_t groups = 1) {
  const OpDef& op = *find_op(op_table(), "conv2d");
  const Attributes window = {{"padding", kernel / 2}, {"groups", groups}};
  return {&op, {{dtype, x}, {dtype, {kernel, kernel, x[3] / groups, outs}}}, complete_attributes(op, window)};
}

TEST(Matrix, RegistersServeBf16WithChannelsEnoughAndBeforeWinograd) {
  if (!includes(kLargestIsa, Isa::amx_bf16)) GTEST_SKIP() << "no kernels for matrix registers in this build";
  const auto isa_of = [](const OpCase& c) { return chosen_for(c, Isa::amx_bf16)->isa; };
  EXPECT_EQ(isa_of(convolution({100, 32, 32, 32}, 32, 3, DType::bf16)), Isa::amx_bf16);
  EXPECT_EQ(isa_of(convolution({16, 14, 14, 256}, 1024, 1, DType::bf16)), Isa::amx_bf16);
  EXPECT_EQ(isa_of(convolution({100, 32, 32, 3}, 16, 3, DType::bf16)), Isa::avx512_bf16);
  EXPECT_EQ(isa_of(convolution({100, 32, 32, 64}, 64, 3, DType::bf16, 8)), Isa::avx512_bf16);
  EXPECT_EQ(isa_of(convolution({100, 32, 32, 32}, 32, 3, DType::f32)), Isa::avx512);
}

// Where a row begins in a register depends on blocks, which depend on the batch; what it becomes does not.
TEST(Matrix, ASampleGetsTheSameBitsInEveryBatch) {
  if (tested_isa() != Isa::amx_bf16) GTEST_SKIP() << "no pairs of bf16 on this machine";
  for (const std::int64_t channels : {24, 32, 50}) {
    const OpCase all = convolution({9, 10, 37, channels}, 40, 3, DType::bf16);
    const std::vector<Tensor> in = {normal_tensor(all.in[0], 0), normal_tensor(all.in[1], 1)};
    const auto run = [&](std::int64_t samples) {
      std::vector<Tensor> few = in;
      few[0].type.shape = {samples, 10, 37, channels};
      few[0].bytes.resize(static_cast<std::size_t>(few[0].type.bytes()));
      return run_by_kernel("conv2d", Isa::amx_bf16, all.attributes, few, 2)[0];
    };
    const Tensor whole = run(9);
    for (const std::int64_t samples : {1, 2, 5}) {
      const Tensor part = run(samples);
      EXPECT_TRUE(std::equal(part.bytes.begin(), part.bytes.end(), whole.bytes.begin())) << channels << ", " << samples;
    }
  }
}

}  // namespace
}  // namespace thimble::testing
