// What the loss and its gradient share: the check of their inputs and one row of the softmax.
#pragma once

#include <cmath>

#include "ops/check.h"

namespace thimble::ops {

// logits (B, ..., K), labels i32 (B, ...): a class for every sample, or for every place of it.
inline void require_cross_entropy(std::string_view op, const OpQuery& q) {
  require_inputs(op, q, 2, 2);
  const Shape& logits = q.in[0].shape;
  require_floating(op, "the logits", q.in[0]);
  require(logits.rank() >= 2, op, ": the logits are ", q.in[0], ", wanted samples, places if any, classes");
  require_not_empty(op, "the logits", q.in[0]);
  require_type(op, "the labels", q.in[1],
               {DType::i32, Shape(logits.dims().first(static_cast<std::size_t>(logits.rank() - 1)))});
  const double smoothing = q.number("smoothing");
  require(smoothing >= 0 && smoothing < 1, op, ": attribute 'smoothing' is ", smoothing,
          ", wanted at least 0 and less than 1");
}

struct CrossEntropyShape {
  std::int64_t rows = 0;    // of all samples
  std::int64_t places = 0;  // of one sample
  std::int64_t classes = 0;
};
inline CrossEntropyShape cross_entropy_shape(const Shape& logits) noexcept {
  const std::int64_t rows = logits.count() / logits.at(-1);
  return {rows, rows / logits[0], logits.at(-1)};
}

struct SoftmaxRow {
  double maximum = 0;
  double sum = 0;           // of exp(x - maximum)
  std::int64_t argmax = 0;  // the first maximum
};

inline SoftmaxRow softmax_row(const TensorView& logits, std::int64_t first, std::int64_t classes) {
  SoftmaxRow row{load(logits, first), 0, 0};
  for (std::int64_t k = 1; k < classes; ++k) {
    const double x = load(logits, first + k);
    if (x > row.maximum) row.maximum = x, row.argmax = k;
  }
  for (std::int64_t k = 0; k < classes; ++k) row.sum += std::exp(load(logits, first + k) - row.maximum);
  return row;
}

inline std::vector<Example> cross_entropy_examples() {
  return {{{{DType::f32, {5, 10}}, {DType::i32, {5}}}, {}},
          {{{DType::f32, {3, 7}}, {DType::i32, {3}}}, {{"smoothing", 0.25}}},
          {{{DType::f32, {2, 3, 2, 4}}, {DType::i32, {2, 3, 2}}}, {{"smoothing", 0.125}}},
          {{{DType::f32, {1, 1}}, {DType::i32, {1}}}, {}}};
}

}  // namespace thimble::ops
