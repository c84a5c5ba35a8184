// Ops that move or resize, against numbers worked out by hand and against what undoes them.
#include <gtest/gtest.h>

#include "support/op_cases.h"

namespace thimble::testing {
namespace {

using Numbers = std::vector<double>;

Tensor f32(const Shape& shape, const Numbers& values) { return Tensor({DType::f32, shape}, values); }

// 0, 1, 2, ...
Tensor counted(const Shape& shape) {
  Tensor tensor({DType::f32, shape});
  for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, static_cast<double>(i));
  return tensor;
}

Numbers numbers_of(std::string_view op, const Attributes& attributes, const std::vector<Tensor>& in) {
  return run_op(op, attributes, in)[0].values();
}

TEST(MoveOps, ConcatJoinsTheChannelsOfEveryPlace) {
  const std::vector<Tensor> in = {f32({1, 2, 2}, {1, 2, 3, 4}), f32({1, 2, 1}, {5, 6})};
  EXPECT_EQ(numbers_of("concat", {}, in), (Numbers{1, 2, 5, 3, 4, 6}));
}

TEST(MoveOps, ConcatJoinsRowsAlongAnotherAxis) {
  const std::vector<Tensor> in = {f32({2, 1, 2}, {1, 2, 3, 4}), f32({2, 2, 2}, {5, 6, 7, 8, 9, 10, 11, 12})};
  for (const std::int64_t axis : {1, -2}) {
    EXPECT_EQ(numbers_of("concat", {{"axis", axis}}, in), (Numbers{1, 2, 5, 6, 7, 8, 3, 4, 9, 10, 11, 12}));
  }
}

TEST(MoveOps, SliceTakesARangeAndPadPutsItBackAmongZeros) {
  const Tensor x = counted({2, 4});
  const Attributes range = {{"begin", std::int64_t{1}}, {"end", std::int64_t{3}}};
  const Tensor part = run_op("slice", range, {x})[0];
  EXPECT_EQ(part.values(), (Numbers{1, 2, 5, 6}));
  const Attributes zeros = {{"before", std::int64_t{1}}, {"after", std::int64_t{1}}};
  EXPECT_EQ(numbers_of("pad", zeros, {part}), (Numbers{0, 1, 2, 0, 0, 5, 6, 0}));
}

TEST(MoveOps, TheBatchIsNeitherCutNorJoined) {
  const Tensor x = counted({2, 4});
  EXPECT_THROW(run_op("concat", {{"axis", std::int64_t{0}}}, {x, x}), UserError);
  EXPECT_THROW(run_op("pad", {{"axis", std::int64_t{-2}}, {"after", std::int64_t{1}}}, {x}), UserError);
  const Attributes first = {{"axis", std::int64_t{0}}, {"begin", std::int64_t{0}}, {"end", std::int64_t{1}}};
  EXPECT_THROW(run_op("slice", first, {x}), UserError);
}

TEST(MoveOps, ConcatRefusesOtherSizesBesideTheAxis) {
  EXPECT_THROW(run_op("concat", {}, {counted({2, 3, 4}), counted({2, 2, 4})}), UserError);
  EXPECT_THROW(run_op("concat", {}, {counted({2, 3, 4}), counted({2, 12})}), UserError);
}

TEST(MoveOps, AShuffleDealsTheGroupsOutInTurn) {
  const Tensor x = counted({1, 6});
  EXPECT_EQ(numbers_of("channel_shuffle", {{"groups", std::int64_t{2}}}, {x}), (Numbers{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(numbers_of("channel_shuffle", {{"groups", std::int64_t{3}}}, {x}), (Numbers{0, 2, 4, 1, 3, 5}));
  EXPECT_THROW(run_op("channel_shuffle", {{"groups", std::int64_t{4}}}, {x}), UserError);
}

TEST(MoveOps, TransposeExchangesTwoAxes) {
  EXPECT_EQ(numbers_of("transpose", {}, {counted({2, 3})}), (Numbers{0, 3, 1, 4, 2, 5}));
  const Attributes outer = {{"axis0", std::int64_t{0}}, {"axis1", std::int64_t{1}}};
  const Tensor y = run_op("transpose", outer, {counted({2, 3, 2})})[0];
  EXPECT_EQ(to_text(y.type.shape), "[3,2,2]");
  EXPECT_EQ(y.values(), (Numbers{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11}));
}

TEST(MoveOps, WhatUndoesAMoveRestoresEveryBit) {
  for (const OpCase& c : cases_of(*find_op(op_table(), "channel_shuffle"))) {
    const Tensor x = usable_inputs(c, 1)[0];
    const std::int64_t back = x.type.shape.at(-1) / c.attributes.integer("groups");
    const Tensor y = run_op(*c.op, c.attributes, {x}, {})[0];
    EXPECT_TRUE(same_bits(run_op("channel_shuffle", {{"groups", back}}, {y})[0], x)) << describe(c);
  }
  for (const OpCase& c : cases_of(*find_op(op_table(), "transpose"))) {
    const Tensor x = usable_inputs(c, 1)[0];
    const Tensor y = run_op(*c.op, c.attributes, {x}, {})[0];
    EXPECT_TRUE(same_bits(run_op(*c.op, c.attributes, {y}, {})[0], x)) << describe(c);
  }
}

}  // namespace
}  // namespace thimble::testing
