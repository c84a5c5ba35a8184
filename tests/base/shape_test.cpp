#include "base/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/error.h"
#include "base/type.h"

namespace thimble {
namespace {

TEST(Shape, CountsAndIndexesFromBothEnds) {
  const Shape shape = {100, 32, 16, 3};
  EXPECT_EQ(shape.rank(), 4);
  EXPECT_EQ(shape.count(), 153600);
  EXPECT_EQ(shape[0], 100);
  EXPECT_EQ(shape.at(-1), 3);
  EXPECT_EQ(shape.at(-4), 100);
  EXPECT_EQ(to_text(shape), "[100,32,16,3]");
}

TEST(Shape, AScalarHasOneElement) {
  EXPECT_EQ(Shape{}.rank(), 0);
  EXPECT_EQ(Shape{}.count(), 1);
  EXPECT_EQ(to_text(Shape{}), "[]");
}

TEST(Shape, AZeroAnywhereLeavesNoElement) {
  EXPECT_EQ((Shape{0}).count(), 0);
  EXPECT_EQ((Shape{5, 0, 7}).count(), 0);
}

TEST(Shape, ComparesRankAndDimensions) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
  EXPECT_NE((Shape{1}), (Shape{}));
}

TEST(Shape, RefusesWhatCannotExist) {
  EXPECT_THROW((Shape{-1}), UserError);
  EXPECT_THROW((Shape{2, std::numeric_limits<std::int64_t>::min()}), UserError);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1}), UserError);
  EXPECT_NO_THROW((Shape{1, 1, 1, 1, 1, 1}));
}

TEST(Shape, RefusesProductsThatOverflow) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW((Shape{kHuge}), UserError);
  EXPECT_THROW((Shape{kHuge, kHuge}), UserError);
  EXPECT_THROW((Shape{std::int64_t{1} << 32, std::int64_t{1} << 32}), UserError);
  EXPECT_THROW((Shape{0, kHuge, kHuge}), UserError) << "a zero must not hide an overflow of the other dimensions";
  EXPECT_THROW((Shape{(std::int64_t{1} << 48) + 1}), UserError);
}

TEST(Shape, TheLargestShapeHasACountOfBytes) {
  const Type type{DType::f64, {std::int64_t{1} << 24, std::int64_t{1} << 24}};
  EXPECT_EQ(type.bytes(), std::int64_t{1} << 51);
}

TEST(Type, TextNamesDtypeShapeAndPool) {
  EXPECT_EQ(to_text(Type{DType::bf16, {2, 3}}), "bf16[2,3]");
  EXPECT_EQ(to_text(Type{DType::f32, {40}, Layout::pooled}), "f32[40]pooled");
  EXPECT_NE((Type{DType::f32, {40}, Layout::pooled}), (Type{DType::f32, {40}}));
}

TEST(DTypes, NamesReadBackAndSizesAreRight) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64, DType::i32, DType::u8})
    EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
  EXPECT_EQ(dtype_from_name("f16"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
  EXPECT_EQ(bytes_of(DType::bf16), 2);
  EXPECT_EQ(bytes_of(DType::f64), 8);
  EXPECT_EQ(bytes_of(DType::u8), 1);
  EXPECT_TRUE(is_floating(DType::bf16));
  EXPECT_FALSE(is_floating(DType::i32));
}

}  // namespace
}  // namespace thimble
