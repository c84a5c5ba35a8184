// Sparse ops against the dense ones on masked tensors: random masks, empty and full slots, sizes that are no multiple
// of eight.
#include <gtest/gtest.h>

#include "ops/shape_word.h"
#include "support/op_cases.h"

namespace thimble::testing {
namespace {

constexpr std::int64_t kSpare = 5;  // elements of the pool that no slot owns

// Several sparse tensors that share pools: element counts, masks and the table of slots.
struct Sparse {
  std::vector<std::int64_t> counts;
  std::vector<Tensor> masks;  // u8 ((n+7)/8), bits past n are zero
  Tensor table;               // i32 (slots+1)

  std::int64_t begin(std::size_t slot) const {
    return static_cast<std::int64_t>(table.at(static_cast<std::int64_t>(slot)));
  }
  std::int64_t end(std::size_t slot) const { return begin(slot + 1); }
  std::int64_t capacity() const { return end(counts.size() - 1) + kSpare; }
  bool has(std::size_t slot, std::int64_t element) const {
    return ((static_cast<int>(masks[slot].at(element / 8)) >> (element % 8)) & 1) != 0;
  }
  Type pool_type(DType dtype) const { return {dtype, {capacity()}, Layout::pooled}; }
};

Sparse make_sparse(std::uint32_t seed) {
  constexpr std::int64_t kCounts[] = {1, 7, 8, 9, 27, 64, 100, 13};
  constexpr double kDensities[] = {1, 0.5, 0, 1, 0.3, 0.05, 0.6, 0};
  Sparse s;
  std::vector<double> ends = {2};  // the first slot does not begin at zero either
  for (std::size_t slot = 0; slot < std::size(kCounts); ++slot) {
    const std::int64_t count = kCounts[slot];
    Tensor mask({DType::u8, {(count + 7) / 8}});
    double set = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const float draw = random_uniform({seed, static_cast<std::uint32_t>(slot)}, static_cast<std::uint64_t>(i));
      if (static_cast<double>(draw) >= kDensities[slot]) continue;
      mask.set(i / 8, mask.at(i / 8) + static_cast<double>(1 << (i % 8)));
      ++set;
    }
    s.counts.push_back(count);
    s.masks.push_back(mask);
    ends.push_back(ends.back() + set);
  }
  s.table = Tensor({DType::i32, {static_cast<std::int64_t>(ends.size())}}, ends);
  return s;
}

Tensor random_pool(const Sparse& s, DType dtype, std::uint32_t key) {
  return random_tensor(s.pool_type(dtype), {key, 2}, Signs::mixed);
}

// What sparse_to_dense must give, worked out by the test itself.
Tensor scatter(const Sparse& s, std::size_t slot, const Tensor& pool) {
  Tensor dense({pool.type.dtype, {s.counts[slot]}});
  std::int64_t place = s.begin(slot);
  for (std::int64_t i = 0; i < s.counts[slot]; ++i) {
    if (s.has(slot, i)) dense.set(i, pool.at(place++));
  }
  EXPECT_EQ(place, s.end(slot));
  return dense;
}

Tensor masked(const Sparse& s, std::size_t slot, Tensor dense) {
  for (std::int64_t i = 0; i < dense.count(); ++i) {
    if (!s.has(slot, i)) dense.set(i, 0);
  }
  return dense;
}

void expect_others_untouched(const Sparse& s, std::size_t slot, const Tensor& before, const Tensor& after) {
  for (std::int64_t i = 0; i < before.count(); ++i) {
    const bool is_own = i >= s.begin(slot) && i < s.end(slot);
    if (is_own) continue;
    EXPECT_EQ(after.at(i), before.at(i)) << "element " << i << " of another slot";
  }
}

Attributes in_slot(std::size_t slot, Attributes attributes = {}) {
  attributes.set("slot", static_cast<std::int64_t>(slot));
  return attributes;
}

TEST(SparseToDense, PutsEveryValueAtItsBit) {
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    const Sparse s = make_sparse(seed);
    for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
      const Tensor pool = random_pool(s, dtype, seed + 10);
      for (std::size_t slot = 0; slot < s.counts.size(); ++slot) {
        const Attributes attributes =
            in_slot(slot, {{"shape", ops::shape_word({s.counts[slot]})}, {"dtype", std::string(name_of(dtype))}});
        const Tensor dense = run_op("sparse_to_dense", attributes, {pool, s.masks[slot], s.table})[0];
        EXPECT_TRUE(same_bits(dense, scatter(s, slot, pool))) << "slot " << slot;
      }
    }
  }
}

TEST(SparseToDense, GivesTheShapeAndDtypeAskedFor) {
  const Sparse s = make_sparse(1);
  const Tensor pool = random_pool(s, DType::f32, 3);
  const Attributes attributes = in_slot(4, {{"shape", std::string("3,3,3")}, {"dtype", std::string("bf16")}});
  const Tensor dense = run_op("sparse_to_dense", attributes, {pool, s.masks[4], s.table})[0];
  EXPECT_EQ(to_text(dense.type), "bf16[3,3,3]");
  const Tensor expected = scatter(s, 4, pool);
  for (std::int64_t i = 0; i < 27; ++i)
    EXPECT_EQ(dense.at(i), static_cast<double>(to_float(to_bfloat16(static_cast<float>(expected.at(i))))));
}

struct RuleCase {
  std::string_view rule, dense_op;
  int pools = 1, outputs = 1;
  Attributes numbers;
};

std::vector<RuleCase> rule_cases() {
  const Attributes decay = {{"weight_decay", 0.125}}, ball = {{"momentum", 0.75}, {"weight_decay", 0.125}};
  return {{"sgd", "sgd_update", 1, 1, decay},
          {"momentum", "momentum_update", 2, 2, ball},
          {"nesterov", "nesterov_update", 2, 2, ball},
          {"adamw", "adamw_update", 3, 3, {{"beta1", 0.75}, {"beta2", 0.875}, {"eps", 1e-3}, {"weight_decay", 0.25}}},
          {"momentum_open", "momentum_open", 2, 1, ball},
          {"momentum_close", "momentum_close", 2, 2, {}}};
}

// The second moment of AdamW is never negative.
Signs signs_of(const RuleCase& rule, int pool) {
  return rule.rule == "adamw" && pool == 2 ? Signs::positive : Signs::mixed;
}

void check_rule(const Sparse& s, std::size_t slot, const RuleCase& rule, DType dtype, std::string_view rounding) {
  SCOPED_TRACE(join_text(rule.rule, " ", name_of(dtype), " ", rounding, " slot ", slot));
  Attributes numbers = rule.numbers;
  numbers.set("rounding", std::string(rounding));
  numbers.set("key", std::int64_t{6});
  std::vector<Tensor> pools, dense;
  for (int k = 0; k < rule.pools; ++k) {
    pools.push_back(random_tensor(s.pool_type(dtype), {static_cast<std::uint32_t>(k), 3}, signs_of(rule, k)));
    dense.push_back(scatter(s, slot, pools.back()));
  }
  const Tensor gradient = random_tensor({DType::f32, {s.counts[slot]}}, {9, 9}, Signs::mixed);
  std::vector<Tensor> in = pools;
  in.insert(in.end(), {s.masks[slot], s.table, gradient});
  dense.push_back(masked(s, slot, gradient));

  Attributes sparse_numbers = in_slot(slot, numbers);
  sparse_numbers.set("rule", std::string(rule.rule));
  const std::vector<Tensor> found = run_op("sparse_update", sparse_numbers, in, kTestScalars);
  const std::vector<Tensor> expected = run_op(rule.dense_op, numbers, dense, kTestScalars);
  ASSERT_EQ(found.size(), static_cast<std::size_t>(rule.outputs));
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    EXPECT_TRUE(same_bits(scatter(s, slot, found[k]), expected[k])) << "output " << k;
    expect_others_untouched(s, slot, pools[k], found[k]);
  }
}

TEST(SparseUpdate, EqualsTheDenseUpdateOfMaskedTensorsBitForBit) {
  for (std::uint32_t seed = 0; seed < 4; ++seed) {
    const Sparse s = make_sparse(seed);
    for (std::size_t slot = 0; slot < s.counts.size(); ++slot) {
      for (const RuleCase& rule : rule_cases()) {
        check_rule(s, slot, rule, DType::f32, "nearest");
        check_rule(s, slot, rule, DType::bf16, "nearest");
        check_rule(s, slot, rule, DType::bf16, "stochastic");
      }
    }
  }
}

TEST(SparseUpdate, TakesAGradientFromAPoolToo) {
  const Sparse s = make_sparse(3);
  const Tensor gradients = random_pool(s, DType::f32, 30);
  for (std::size_t slot = 0; slot < s.counts.size(); ++slot) {
    for (const RuleCase& rule : rule_cases()) {
      std::vector<Tensor> in;
      for (int k = 0; k < rule.pools; ++k) {
        in.push_back(random_tensor(s.pool_type(DType::bf16), {static_cast<std::uint32_t>(k), 4}, signs_of(rule, k)));
      }
      in.insert(in.end(), {s.masks[slot], s.table, scatter(s, slot, gradients)});
      Attributes attributes = in_slot(slot, rule.numbers);
      attributes.set("rule", std::string(rule.rule));
      attributes.set("rounding", std::string("stochastic"));
      const std::vector<Tensor> expected = run_op("sparse_update", attributes, in, kTestScalars);
      in.back() = gradients;
      const std::vector<Tensor> found = run_op("sparse_update", attributes, in, kTestScalars);
      for (std::size_t k = 0; k < found.size(); ++k)
        EXPECT_TRUE(same_bits(found[k], expected[k])) << rule.rule << " slot " << slot;
    }
  }
}

TEST(SparseAccumulate, EqualsTheDenseAccumulationOfMaskedTensors) {
  const Sparse s = make_sparse(5);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const char* rounding : {"nearest", "stochastic"}) {
      for (std::size_t slot = 0; slot < s.counts.size(); ++slot) {
        const Attributes numbers = {{"rounding", std::string(rounding)}, {"key", std::int64_t{8}}};
        const Tensor total = random_pool(s, dtype, 40);
        const Tensor gradient = random_tensor({DType::f32, {s.counts[slot]}}, {8, 8}, Signs::mixed);
        const Tensor found = run_op("sparse_accumulate", in_slot(slot, numbers),
                                    {total, s.masks[slot], s.table, gradient}, kTestScalars)[0];
        const Tensor expected =
            run_op("accumulate", numbers, {scatter(s, slot, total), masked(s, slot, gradient)}, kTestScalars)[0];
        EXPECT_TRUE(same_bits(scatter(s, slot, found), expected)) << rounding << " slot " << slot;
        expect_others_untouched(s, slot, total, found);
      }
    }
  }
}

TEST(SparseAccumulate, OpeningForgetsWhatTheSlotHeld) {
  const Sparse s = make_sparse(6);
  for (std::size_t slot = 0; slot < s.counts.size(); ++slot) {
    Tensor total = random_pool(s, DType::f32, 50);
    for (std::int64_t i = s.begin(slot); i < s.end(slot); ++i) total.set(i, std::nan(""));  // even rubbish
    const Tensor gradient = random_tensor({DType::f32, {s.counts[slot]}}, {7, 7}, Signs::mixed);
    const Attributes attributes = in_slot(slot, {{"opens", std::int64_t{1}}});
    const Tensor found = run_op("sparse_accumulate", attributes, {total, s.masks[slot], s.table, gradient})[0];
    EXPECT_TRUE(same_bits(scatter(s, slot, found), masked(s, slot, gradient))) << "slot " << slot;
    expect_others_untouched(s, slot, total, found);
  }
}

// Mask and table come from checkpoints: whatever they say, nothing outside the pool is read or written.
TEST(SparseOps, ADamagedTableStaysInsideThePool) {
  constexpr std::int64_t kCapacity = 16;
  const Tensor mask({DType::u8, {4}}, std::vector<double>(4, 255.0));
  const Tensor gradient({DType::f32, {27}}, std::vector<double>(27, 1.0));
  const Tensor pool({DType::f32, {kCapacity}, Layout::pooled}, std::vector<double>(kCapacity, 3.0));
  const std::vector<std::vector<double>> tables = {{-5, 40}, {12, 1000000}, {10, 4}, {2147483647, -2147483648.0},
                                                   {20, 30}, {-9, -3},      {14, 16}};
  for (const std::vector<double>& ends : tables) {
    const Tensor table({DType::i32, {2}}, ends);
    const auto begin = std::clamp<double>(ends[0], 0, kCapacity), end = std::clamp<double>(ends[1], begin, kCapacity);
    const Tensor total = run_op("sparse_accumulate", in_slot(0), {pool, mask, table, gradient})[0];
    for (std::int64_t i = 0; i < kCapacity; ++i) {
      const auto place = static_cast<double>(i);
      EXPECT_EQ(total.at(i), place >= begin && place < end ? 4.0 : 3.0)
          << "element " << i << " of table " << ends[0] << " " << ends[1];
    }
    const Attributes rule = in_slot(0, {{"rule", std::string("sgd")}});
    const Tensor moved = run_op("sparse_update", rule, {pool, mask, table, gradient}, {.learning_rate = 1})[0];
    const Tensor dense = run_op("sparse_to_dense", in_slot(0, {{"shape", std::string("27")}}), {pool, mask, table})[0];
    double kept = 0;
    for (const double value : dense.values()) kept += value == 3.0 ? 1 : 0;
    EXPECT_EQ(kept, end - begin);
    for (std::int64_t i = 0; i < kCapacity; ++i) {
      const auto place = static_cast<double>(i);
      EXPECT_EQ(moved.at(i), place >= begin && place < end ? 2.0 : 3.0);
    }
  }
}

TEST(SparseOps, BitsPastTheLastElementAreIgnored) {
  const Tensor mask({DType::u8, {1}}, std::vector<double>{0xff});
  const Tensor pool({DType::f32, {8}, Layout::pooled}, std::vector<double>(8, 1.0));
  const Tensor table({DType::i32, {2}}, std::vector<double>{0, 8});
  const Tensor gradient({DType::f32, {3}}, std::vector<double>(3, 1.0));
  const Tensor total = run_op("sparse_accumulate", in_slot(0), {pool, mask, table, gradient})[0];
  EXPECT_EQ(total.values(), (std::vector<double>{2, 2, 2, 1, 1, 1, 1, 1}));
}

TEST(SparseOps, RefuseWhatDoesNotFitTogether) {
  const Tensor pool({DType::f32, {8}, Layout::pooled}), larger({DType::f32, {9}, Layout::pooled}),
      dense({DType::f32, {8}});
  const Tensor mask({DType::u8, {1}}), table({DType::i32, {3}}), gradient({DType::f32, {8}}),
      long_gradient({DType::f32, {9}});
  const Attributes sgd = in_slot(0, {{"rule", std::string("sgd")}}),
                   momentum = in_slot(0, {{"rule", std::string("momentum")}});
  EXPECT_EQ(refusal("sparse_update", sgd, {pool, mask, table, gradient}), "taken");
  EXPECT_EQ(refusal("sparse_update", in_slot(2, sgd), {pool, mask, table, gradient}),
            "sparse_update: attribute 'slot' is 2, wanted 0 to 1");
  EXPECT_EQ(refusal("sparse_update", in_slot(0, {{"rule", std::string("adam")}}), {pool, mask, table, gradient}),
            "sparse_update: attribute 'rule' is 'adam', wanted sgd, momentum, nesterov, adamw, momentum_open or "
            "momentum_close");
  EXPECT_EQ(refusal("sparse_update", momentum, {pool, mask, table, gradient}),
            "sparse_update: found 4 inputs, wanted 5 or 6 for rule momentum");
  EXPECT_EQ(refusal("sparse_update", sgd, {pool, pool, mask, table, gradient}),
            "sparse_update: the gradient's scale is f32[8], wanted shape [1]");
  EXPECT_EQ(refusal("sparse_update", momentum, {pool, larger, mask, table, gradient}),
            "sparse_update: input 1 is f32[9]pooled, wanted the size of pool 0, [8]");
  EXPECT_EQ(refusal("sparse_update", sgd, {pool, mask, table, larger}),
            "sparse_update: input 3 is f32[9]pooled, wanted the size of pool 0, [8]");
  EXPECT_EQ(refusal("sparse_update", sgd, {dense, mask, table, gradient}),
            "sparse_update: input 0 is f32[8], wanted a pooled floating vector");
  EXPECT_EQ(refusal("sparse_update", sgd, {pool, mask, table, long_gradient}),
            "sparse_update: the mask is u8[1], wanted u8[2]");
  EXPECT_EQ(refusal("sparse_update", sgd, {pool, mask, mask, gradient}),
            "sparse_update: the table is u8[1], wanted i32[slots+1]");
  EXPECT_EQ(refusal("sparse_accumulate", in_slot(0, {{"opens", std::int64_t{2}}}), {pool, mask, table, gradient}),
            "sparse_accumulate: attribute 'opens' is 2, wanted 0 to 1");
}

TEST(SparseOps, RefuseShapesThatAreNone) {
  const Tensor pool({DType::f32, {8}, Layout::pooled}), mask({DType::u8, {1}}), table({DType::i32, {2}});
  const auto with_shape = [&](const std::string& shape) {
    return refusal("sparse_to_dense", in_slot(0, {{"shape", shape}}), {pool, mask, table});
  };
  EXPECT_EQ(with_shape("2,4"), "taken");
  for (const char* shape :
       {"", ",", "2,", ",2", "2,,4", "2, 4", "-2,4", "0,8", "+8", "8x", "2;4", "99999999999999999999"}) {
    EXPECT_NE(with_shape(shape).find("is not understood"), std::string::npos)
        << "'" << shape << "': " << with_shape(shape);
  }
  EXPECT_NE(with_shape("1,1,1,1,1,1,8").find("more than 6 dimensions"), std::string::npos);
  EXPECT_NE(with_shape("4294967296,4294967296").find("too many elements"), std::string::npos);
  EXPECT_EQ(with_shape("3,4"), "sparse_to_dense: the mask is u8[1], wanted u8[2]");
}

}  // namespace
}  // namespace thimble::testing
