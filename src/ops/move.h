// What the ops that only move elements share: an axis as an attribute, shapes changed along it, and copies that change
// no bit, whatever a NaN carries.
#pragma once

#include <array>
#include <cstring>

#include "ops/check.h"

namespace thimble::ops {

constexpr AttributeDef kAxisAttribute = {"axis", AttributeKind::integer, "-1"};

// The axis that an attribute names; negative ones count from the end.
inline int axis_attribute(std::string_view op, const OpQuery& q, std::string_view name, const Type& x) {
  const std::int64_t rank = x.shape.rank();
  const std::int64_t axis = integer_between(op, q, name, -rank, rank - 1);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// The axis along which a tensor is cut or joined. Never the first: it counts samples, and what is taken from it would
// change with the microbatch.
inline int inner_axis(std::string_view op, const OpQuery& q, const Type& x) {
  require_floating(op, "x", x);
  require_not_empty(op, "x", x);
  require(x.shape.rank() >= 2, op, ": x is ", x, ", wanted at least two dimensions");
  const int axis = axis_attribute(op, q, "axis", x);
  require(axis != 0, op, ": attribute 'axis' is ", q.integer("axis"), " of ", x,
          ", wanted one behind the first, which counts samples");
  return axis;
}

inline Shape with_extent(const Shape& shape, int axis, std::int64_t extent) {
  std::array<std::int64_t, Shape::kMaxRank> dims{};
  for (int k = 0; k < shape.rank(); ++k) dims[static_cast<std::size_t>(k)] = k == axis ? extent : shape[k];
  return Shape(std::span<const std::int64_t>(dims.data(), static_cast<std::size_t>(shape.rank())));
}

// How many elements one step along the axis passes over, and how many runs of the axis there are.
inline std::int64_t count_after(const Shape& shape, int axis) noexcept {
  std::int64_t count = 1;
  for (int k = axis + 1; k < shape.rank(); ++k) count *= shape[k];
  return count;
}
inline std::int64_t count_before(const Shape& shape, int axis) noexcept {
  std::int64_t count = 1;
  for (int k = 0; k < axis; ++k) count *= shape[k];
  return count;
}

// A move costs no arithmetic; one operation an element stands for the address.
inline double flops_of_move(const OpQuery& q) { return static_cast<double>(q.out[0].shape.count()); }

inline void copy_elements(const TensorView& to, std::int64_t to_place, const TensorView& from, std::int64_t from_place,
                          std::int64_t count) noexcept {
  const std::int64_t width = bytes_of(to.dtype);
  std::memcpy(to.as<std::byte>() + to_place * width, from.as<const std::byte>() + from_place * width,
              static_cast<std::size_t>(count * width));
}

}  // namespace thimble::ops
