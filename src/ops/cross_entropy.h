// What the loss and its gradient share: the check of their inputs and one row of the softmax.
#pragma once

#include <cmath>

#include "ops/check.h"

namespace thimble::ops {

// logits (B, K), labels i32 (B)
inline void require_cross_entropy(std::string_view op, const OpQuery& q) {
  require_inputs(op, q, 2, 2);
  require_rank(op, "the logits", q.in[0], 2);
  require_type(op, "the labels", q.in[1], {DType::i32, {q.in[0].shape[0]}});
  const double smoothing = q.number("smoothing");
  require(smoothing >= 0 && smoothing < 1, op, ": attribute 'smoothing' is ", smoothing,
          ", wanted at least 0 and less than 1");
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
          {{{DType::f32, {1, 1}}, {DType::i32, {1}}}, {}}};
}

}  // namespace thimble::ops
