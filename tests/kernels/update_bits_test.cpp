// Sparse and dense updates are the same update, and stochastic rounding spends exactly the random bits that the
// contract names.
#include "kernels/support/kernel_lookup.h"

namespace thimble::testing {
namespace {

class UpdateBits : public ::testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(All, UpdateBits, ::testing::ValuesIn(runnable_isas()),
                         [](const auto& parameter) { return std::string(name_of(parameter.param)); });

struct RuleCase {
  std::string rule, op;
  std::size_t tensors;  // read besides the gradient
};
const RuleCase kRules[] = {
    {"sgd", "sgd_update", 1},     {"momentum", "momentum_update", 2},    {"nesterov", "nesterov_update", 2},
    {"adamw", "adamw_update", 3}, {"momentum_open", "momentum_open", 2}, {"momentum_close", "momentum_close", 2}};

constexpr std::int64_t kCount = 20000;

Attributes numbers_for(const OpDef& op) {
  Attributes attributes = {{"rounding", std::string("stochastic")}, {"key", std::int64_t{6}}};
  for (const std::string_view name : {"momentum", "beta1"}) {
    if (has_attribute(op, name)) attributes.set(name, 0.875);
  }
  if (has_attribute(op, "weight_decay")) attributes.set("weight_decay", 0.01);
  return attributes;
}

// A sparse tensor without zeros, in the second of three slots, holds what a dense one does.
TEST_P(UpdateBits, AFullSparseTensorIsUpdatedLikeADenseOne) {
  const Tensor gradient = normal_tensor({DType::f32, {kCount}}, 9);
  Tensor mask({DType::u8, {kCount / 8}}, std::byte{0xFF});
  const Tensor table({DType::i32, {4}}, {0, 100, 100 + kCount, 100 + kCount + 50});
  for (const RuleCase& rule : kRules) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(join_text(rule.rule, " ", name_of(dtype)));
      const Attributes numbers = numbers_for(*find_op(op_table(), rule.op));
      std::vector<Tensor> dense, sparse;
      for (std::size_t k = 0; k < rule.tensors; ++k) {
        dense.push_back(random_tensor({dtype, {kCount}}, random_key(2, RandomPurpose::test, k), Signs::positive));
        sparse.push_back(random_tensor({dtype, {kCount + 150}, Layout::pooled}, random_key(3, RandomPurpose::test, k),
                                       Signs::mixed));
        for (std::int64_t i = 0; i < kCount; ++i) sparse[k].set(100 + i, dense[k].at(i));
      }
      const std::vector<Tensor> pools = sparse;
      dense.push_back(gradient);
      sparse.insert(sparse.end(), {mask, table, gradient});
      Attributes sparse_numbers = numbers;
      sparse_numbers.set("slot", std::int64_t{1});
      sparse_numbers.set("rule", rule.rule);
      const auto want = run_by_kernel(rule.op, GetParam(), numbers, dense, 2);
      const auto got = run_by_kernel("sparse_update", GetParam(), sparse_numbers, sparse, 3);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t k = 0; k < want.size(); ++k) {
        Tensor expected = pools[k];  // the other slots stay
        for (std::int64_t i = 0; i < kCount; ++i) expected.set(100 + i, want[k].at(i));
        EXPECT_TRUE(same_bits(got[k], expected)) << "output " << k;
      }
    }
  }
}

// Gradients and what applies them at once: of few pixels, which threads share out, and of many weights, which are
// summed in several turns.
struct JoinedCase {
  std::string gradient, update;
  Shape x, dy, weights;
};
const JoinedCase kJoined[] = {
    {"conv2d_grad_weight", "conv2d_update_weight", {3, 6, 5, 20}, {3, 6, 5, 37}, {3, 3, 20, 37}},
    {"conv2d_grad_weight", "conv2d_update_weight", {2, 3, 3, 96}, {2, 3, 3, 200}, {3, 3, 96, 200}},
    {"norm_conv2d_grad_weight", "norm_conv2d_update_weight", {2, 3, 3, 96}, {2, 3, 3, 200}, {3, 3, 96, 200}},
    {"matmul", "linear_update_weight", {5, 400}, {5, 333}, {400, 333}}};

Attributes gradient_attributes(const JoinedCase& c) {
  if (c.gradient == "matmul") return {{"transpose_a", std::int64_t{1}}};
  return {{"padding", std::int64_t{1}}, {"kernel_height", std::int64_t{3}}, {"kernel_width", std::int64_t{3}}};
}

TEST_P(UpdateBits, AGradientAppliedWhereItIsMadeIsAppliedLikeAStoredOne) {
  for (const JoinedCase& c : kJoined) {
    std::vector<Tensor> operands = {normal_tensor({DType::bf16, c.x}, 5)};
    if (c.gradient.starts_with("norm_")) {
      for (std::uint64_t k = 0; k < 4; ++k)
        operands.push_back(
            random_tensor({DType::f32, {c.x.at(-1)}}, random_key(4, RandomPurpose::test, k), Signs::positive));
    }
    operands.push_back(normal_tensor({DType::bf16, c.dy}, 6));
    const Tensor gradient = run_by_kernel(c.gradient, GetParam(), gradient_attributes(c), operands, 2)[0];
    for (const RuleCase& rule : kRules) {
      for (const DType dtype : {DType::f32, DType::bf16}) {
        SCOPED_TRACE(join_text(c.update, " ", c.weights, " ", rule.rule, " ", name_of(dtype)));
        const Attributes numbers = numbers_for(*find_op(op_table(), rule.op));
        std::vector<Tensor> apart;
        for (std::size_t k = 0; k < rule.tensors; ++k)
          apart.push_back(random_tensor({dtype, c.weights}, random_key(2, RandomPurpose::test, k), Signs::positive));
        std::vector<Tensor> joined = apart;
        apart.push_back(gradient);
        joined.insert(joined.end(), operands.begin(), operands.end());
        Attributes attributes = numbers;
        attributes.set("rule", rule.rule);
        if (c.gradient != "matmul") attributes.set("padding", std::int64_t{1});
        const auto want = run_by_kernel(rule.op, GetParam(), numbers, apart, 2);
        const auto got = run_by_kernel(c.update, GetParam(), attributes, joined, 2);
        ASSERT_EQ(got.size(), want.size());
        for (std::size_t k = 0; k < want.size(); ++k) EXPECT_TRUE(same_bits(got[k], want[k])) << "output " << k;
      }
    }
  }
}

TEST_P(UpdateBits, StochasticRoundingSpendsTheNamedBits) {
  constexpr RunScalars kScalars{.seed = 0x123456789ABCDEF0, .iteration = 0x100000007};
  const Tensor total({DType::bf16, {777}});
  const Tensor x = normal_tensor({DType::f32, {777}}, 4);
  const Attributes attributes = {{"rounding", std::string("stochastic")}, {"key", std::int64_t{-5}}};
  const auto got = run_by_kernel("accumulate", GetParam(), attributes, {total, x}, 2, kScalars);
  const RandomKey key = random_key(kScalars.seed, RandomPurpose::rounding, static_cast<std::uint64_t>(-5));
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const auto bits =
        random_bits(key, static_cast<std::uint64_t>(i) * 4, static_cast<std::uint64_t>(kScalars.iteration));
    const float want = to_float(to_bfloat16_stochastic(static_cast<float>(x.at(i)), bits[0]));
    ASSERT_EQ(got[0].at(i), static_cast<double>(want)) << "element " << i;
  }
}

TEST_P(UpdateBits, StochasticRoundingKeepsNaNAndInfinity) {
  const Tensor total({DType::bf16, {3}});
  const Tensor x({DType::f32, {3}}, {std::nan(""), HUGE_VAL, -HUGE_VAL});
  const auto got = run_by_kernel("accumulate", GetParam(), {{"rounding", std::string("stochastic")}}, {total, x}, 1);
  EXPECT_TRUE(std::isnan(got[0].at(0)));
  EXPECT_EQ(got[0].at(1), HUGE_VAL);
  EXPECT_EQ(got[0].at(2), -HUGE_VAL);
}

// Run-time tables may come from a damaged file: the kernel stays inside the slot, and the slot inside the pool.
TEST_P(UpdateBits, DamagedTablesReachNoForeignMemory) {
  const OpDef* op = find_op(op_table(), "sparse_accumulate");
  const Tensor pool = normal_tensor({DType::f32, {40}, Layout::pooled}, 1);
  const Tensor mask({DType::u8, {100}}, std::byte{0xFF}), gradient = normal_tensor({DType::f32, {800}}, 2);
  for (const std::vector<double>& ends :
       {std::vector<double>{0, 30, 20, 40}, {-7, -3, 9, 2e9}, {0, 35, 1e9, 2e9}, {50, 60, 70, 80}}) {
    for (std::int64_t slot = 0; slot < 3; ++slot) {
      const std::vector<Tensor> in = {pool, mask, Tensor({DType::i32, {4}}, ends), gradient};
      const OpCase c{op, types_of(in), complete_attributes(*op, {{"slot", slot}})};
      const RunResult got = run_kernel(kernel_for(op->name, GetParam()), c, in, {.threads = 2});
      EXPECT_TRUE(got.is_inside);
      EXPECT_TRUE(same_bits(got.out[0], run_op(*op, c.attributes, in, kTestScalars)[0]));
    }
  }
}

}  // namespace
}  // namespace thimble::testing
