// Every kernel is tested by existing: on its op's examples and on larger odd sizes, in every dtype it serves, with
// several thread counts, against the op's reference.
#include <gtest/gtest.h>

#include "kernels/support/kernel_cases.h"
#include "kernels/support/kernel_lookup.h"
#include "kernels/support/kernel_run.h"
#include "kernels/support/matrix_emulator.h"
#include "kernels/support/pair_products.h"

namespace thimble::testing {
namespace {

// f32 sums of at most a few thousand terms, blocked: a few units in the last place, more where a sum cancels.
constexpr double kF32RelativeL2 = 3e-6;
constexpr double kF32RelativeMax = 2e-5;
// Kernel and reference round values that differ in the 24th bit: now and then to neighbouring bf16 numbers, 2^-8 apart.
constexpr double kBf16RelativeL2 = 1e-3;
constexpr double kBf16RelativeMax = 0x1.0p-7;

// Kernels that multiply pairs of bf16 round weights and what a norm makes to bf16 first: each product errs by 2^-8 at
// most, and what they round in the end differs the more often.
constexpr double kRoundedRelativeL2 = 0x1.8p-8;
constexpr double kRoundedRelativeMax = 0x1.0p-6;

constexpr int kThreadCounts[] = {1, 2, 3};

struct Tested {
  const Kernel* kernel = nullptr;
  const OpDef* op = nullptr;
};

std::vector<Tested> runnable_kernels() {
  std::vector<Tested> tested;
  for (const Kernel* kernel : cpu_kernels()) {
    if (includes(tested_isa(), kernel->isa)) tested.push_back({kernel, find_op(op_table(), kernel->op)});
  }
  return tested;
}

std::string name_of_kernel(const ::testing::TestParamInfo<Tested>& parameter) {
  return std::string(parameter.param.kernel->name) + "_" + std::string(name_of(parameter.param.kernel->isa));
}

class KernelTest : public ::testing::TestWithParam<Tested> {
 protected:
  void SetUp() override { ASSERT_NE(GetParam().op, nullptr) << "there is no op '" << kernel().op << "'"; }
  const Kernel& kernel() const { return *GetParam().kernel; }
  bool serves(const OpCase& c, int threads) const {
    const std::vector<Type> out = c.out();
    return kernel().refuse(query_of(c, out, threads)).empty();
  }

  std::vector<OpCase> all_cases() const {
    if (!has_fallback(kernel())) return kernel_cases(*GetParam().op);
    return kernel_cases(*GetParam().op, kernel().isa == Isa::amx_bf16 ? kMatrixExamples : kConvExamples);
  }

  // Calls body(case, inputs) for every served case.
  template <typename Body>
  void for_served(Body&& body) const {
    for (const OpCase& example : all_cases()) {
      for (const OpCase& c : dtype_variants(example)) {
        if (!serves(c, 1)) continue;
        SCOPED_TRACE(describe(c));
        body(c, kernel_inputs(c, 5));
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(All, KernelTest, ::testing::ValuesIn(runnable_kernels()), name_of_kernel);

void expect_close(const Tensor& got, const Tensor& want, bool is_rounded) {
  if (!is_floating(want.type.dtype)) {
    EXPECT_TRUE(same_bits(got, want));
    return;
  }
  const bool is_narrow = want.type.dtype == DType::bf16;
  const Difference difference = difference_of(got, want);
  EXPECT_LE(difference.relative_l2, is_rounded ? kRoundedRelativeL2 : is_narrow ? kBf16RelativeL2 : kF32RelativeL2);
  EXPECT_LE(difference.relative_max, is_rounded ? kRoundedRelativeMax : is_narrow ? kBf16RelativeMax : kF32RelativeMax);
}

void expect_same_bits(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t k = 0; k < want.size(); ++k) {
    EXPECT_TRUE(same_bits(got[k], want[k]))
        << "output " << k << ", relative L2 " << difference_of(got[k], want[k]).relative_l2;
  }
}

TEST_P(KernelTest, ServesEveryExampleInF32AndSomeInBf16) {
  if (has_fallback(kernel())) GTEST_SKIP() << "may refuse";
  bool serves_narrow = false, has_floating = false;
  for (const OpCase& example : cases_of(*GetParam().op)) {
    EXPECT_TRUE(serves(example, 2) || serves_bf16_alone(kernel())) << describe(example);
    for (const OpCase& c : dtype_variants(example)) {
      for (const Type& type : c.in) {
        has_floating = has_floating || is_floating(type.dtype);
        if (type.dtype == DType::bf16 && serves(c, 2)) serves_narrow = true;
      }
    }
  }
  EXPECT_TRUE(serves_narrow || !has_floating);
}

// What is refused everywhere would be tested nowhere. Threads must not matter: the tests below ask for one.
TEST_P(KernelTest, ServesSeveralCasesAtAnyNumberOfThreads) {
  int served = 0;
  for (const OpCase& example : all_cases()) {
    for (const OpCase& c : dtype_variants(example)) {
      served += serves(c, 1) ? 1 : 0;
      for (const int threads : kThreadCounts) EXPECT_EQ(serves(c, threads), serves(c, 1)) << describe(c);
    }
  }
  EXPECT_GE(served, has_fallback(kernel()) ? 2 : 1);
}

TEST_P(KernelTest, RefusesF64) {
  for (const OpCase& example : cases_of(*GetParam().op)) {
    const OpCase wide = in_f64(example);
    EXPECT_TRUE(!is_accepted(wide) || wide.op->is_view || !serves(wide, 1)) << describe(wide);
  }
}

// Moments are those of what was stored, which the reference may have rounded to a neighbouring number.
void take_moments_of(const Tensor& y, const OpCase& c, std::vector<Tensor>& want) {
  if (!has_attribute(*c.op, "moments_eps") || want.size() == 1) return;
  const Attributes eps = {{"eps", c.attributes.number("moments_eps")}};
  const std::vector<Tensor> moments = run_op(*find_op(op_table(), "batch_moments"), eps, {y}, kTestScalars);
  std::copy(moments.begin(), moments.end(), want.begin() + 1);
}

TEST_P(KernelTest, AgreesWithTheReferenceInsideItsMemory) {
  for_served([&](const OpCase& c, const std::vector<Tensor>& in) {
    std::vector<Tensor> want = run_op(*c.op, c.attributes, in, kTestScalars);
    for (const int threads : kThreadCounts) {
      const RunResult got = run_kernel(kernel(), c, in, {.threads = threads});
      ASSERT_EQ(got.status, Status::good);
      EXPECT_TRUE(got.is_inside) << "a canary died";
      EXPECT_TRUE(got.leaves_inputs) << "an input was written";
      ASSERT_EQ(got.out.size(), want.size());
      take_moments_of(got.out[0], c, want);
      for (std::size_t k = 0; k < want.size(); ++k) {
        SCOPED_TRACE(join_text("output ", k, ", ", threads, " threads"));
        const bool is_product = k == 0 || c.op->is_update;
        expect_close(got.out[k], want[k], is_product && rounds_operands(kernel(), c.in));
      }
    }
  });
}

TEST_P(KernelTest, GivesTheSameBitsAgainWhereverItsMemoryLies) {
  for_served([&](const OpCase& c, const std::vector<Tensor>& in) {
    for (const int threads : kThreadCounts) {
      const RunResult first = run_kernel(kernel(), c, in, {.threads = threads});
      const RunResult again = run_kernel(kernel(), c, in, {.threads = threads, .rubbish = std::byte{0x3E}});
      const RunResult shifted = run_kernel(kernel(), c, in, {.threads = threads, .is_shifted = true});
      EXPECT_TRUE(shifted.is_inside) << "a canary died";
      expect_same_bits(again.out, first.out);
      expect_same_bits(shifted.out, first.out);
    }
  });
}

// The runs in place that an op allows: all pairs at once for an update, else each pair alone.
std::vector<std::vector<InPlacePair>> in_place_setups(const OpCase& c) {
  const std::vector<Type> out = c.out();
  std::vector<InPlacePair> pairs;
  for (const InPlacePair& pair : c.op->in_place) {
    const auto output = static_cast<std::size_t>(pair.output), input = static_cast<std::size_t>(pair.input);
    if (output < out.size() && input < c.in.size() && out[output].bytes() == c.in[input].bytes()) pairs.push_back(pair);
  }
  if (c.op->is_view) pairs.push_back({0, 0});
  if (!pairs.empty() && c.op->is_update) return {pairs};
  std::vector<std::vector<InPlacePair>> setups;
  for (const InPlacePair& pair : pairs) setups.push_back({pair});
  return setups;
}

TEST_P(KernelTest, GivesTheSameBitsInPlace) {
  for_served([&](const OpCase& c, const std::vector<Tensor>& in) {
    for (const std::vector<InPlacePair>& pairs : in_place_setups(c)) {
      for (const int threads : kThreadCounts) {
        const RunResult apart = run_kernel(kernel(), c, in, {.threads = threads});
        const RunResult over = run_kernel(kernel(), c, in, {.threads = threads, .pairs = pairs});
        EXPECT_TRUE(over.is_inside) << "a canary died";
        EXPECT_TRUE(over.leaves_inputs) << "an input was written";
        expect_same_bits(over.out, apart.out);
      }
    }
  });
}

}  // namespace
}  // namespace thimble::testing
