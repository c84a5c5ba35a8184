// What the infer functions of several ops ask of their inputs and attributes. Every failure names the op, the found and
// the wanted. Types and shapes go to require() as they are: every node is checked many times, and text is made only
// where a check fails.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "ir/op_def.h"

namespace thimble::ops {

// Bound of image dimensions and of attributes that are lengths: products of two of them cannot overflow, however
// hostile the text they were read from.
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;

constexpr AttributeDef kDTypeAttribute = {"dtype", AttributeKind::word, "f32"};
constexpr AttributeDef kEpsAttribute = {"eps", AttributeKind::number, "1e-5"};

// The attributes of an op, where some belong to a part that it shares with others.
template <std::size_t kOwn, std::size_t kShared>
constexpr std::array<AttributeDef, kOwn + kShared> joined(const AttributeDef (&own)[kOwn],
                                                          const AttributeDef (&shared)[kShared]) {
  std::array<AttributeDef, kOwn + kShared> all;
  std::copy(std::begin(shared), std::end(shared), std::copy(std::begin(own), std::end(own), all.begin()));
  return all;
}

inline void require_inputs(std::string_view op, const OpQuery& q, std::size_t least, std::size_t most) {
  require(q.in.size() >= least && q.in.size() <= most, op, ": found ", q.in.size(), " inputs, wanted ", least,
          most > least ? join_text(" to ", most) : "");
}

inline void require_floating(std::string_view op, std::string_view what, const Type& type) {
  require(is_floating(type.dtype) && type.layout == Layout::dense, op, ": ", what, " is ", type,
          ", wanted a dense floating type");
}

inline void require_not_empty(std::string_view op, std::string_view what, const Type& type) {
  require(type.shape.count() > 0, op, ": ", what, " is ", type, ", wanted at least one element");
}

inline void require_rank(std::string_view op, std::string_view what, const Type& type, int rank) {
  require_floating(op, what, type);
  require(type.shape.rank() == rank, op, ": ", what, " is ", type, ", wanted ", rank, " dimensions");
  require_not_empty(op, what, type);
}

// (B, H, W, C), or the four dimensions of a convolution's weights
inline void require_image(std::string_view op, std::string_view what, const Type& type) {
  require_rank(op, what, type, 4);
  for (const std::int64_t dim : type.shape.dims()) {
    require(dim <= kMaxExtent, op, ": ", what, " is ", type, ", wanted dimensions of at most ", kMaxExtent);
  }
}

inline void require_shape(std::string_view op, std::string_view what, const Type& type, const Shape& wanted) {
  require(type.shape == wanted && type.layout == Layout::dense, op, ": ", what, " is ", type, ", wanted shape ",
          wanted);
}

// The same where the shape follows from attributes: the message shows them.
inline void require_shape_for(std::string_view op, std::string_view what, const Type& type, const Shape& wanted,
                              const OpQuery& q) {
  require(type.shape == wanted && type.layout == Layout::dense, op, ": ", what, " is ", type, ", wanted shape ", wanted,
          " for ", *q.attributes);
}

inline void require_type(std::string_view op, std::string_view what, const Type& type, const Type& wanted) {
  require(type == wanted, op, ": ", what, " is ", type, ", wanted ", wanted);
}

inline std::int64_t integer_between(std::string_view op, const OpQuery& q, std::string_view name, std::int64_t least,
                                    std::int64_t most) {
  const std::int64_t value = q.integer(name);
  require(value >= least && value <= most, op, ": attribute '", name, "' is ", value, ", wanted ", least, " to ", most);
  return value;
}

inline DType dtype_attribute(std::string_view op, const OpQuery& q) {
  const auto dtype = dtype_from_name(q.word("dtype"));
  require(dtype && is_floating(*dtype), op, ": attribute 'dtype' is '", q.word("dtype"), "', wanted f32, bf16 or f64");
  return *dtype;
}

inline void require_eps(std::string_view op, const OpQuery& q) {
  const double eps = q.number("eps");
  require(std::isfinite(eps) && eps > 0, op, ": attribute 'eps' is ", eps, ", wanted a positive number");
}

}  // namespace thimble::ops
