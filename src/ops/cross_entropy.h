// What the loss and its gradient share: the check of their inputs and one row of the softmax.
#pragma once

#include <cmath>

#include "base/error.h"
#include "ir/op_def.h"

namespace thimble::ops {

// logits (B, K), labels i32 (B)
inline void require_cross_entropy(const OpQuery& q, std::string_view op) {
  require(q.in.size() == 2, op, ": found ", q.in.size(), " inputs, wanted 2: logits, labels");
  const Type &logits = q.in[0], &labels = q.in[1];
  require(
      is_floating(logits.dtype) && logits.layout == Layout::dense && logits.shape.rank() == 2 && logits.shape[1] > 0,
      op, ": the logits are ", to_text(logits), ", wanted a floating (B,K)");
  const Type wanted{DType::i32, {logits.shape[0]}};
  require(labels == wanted, op, ": the labels are ", to_text(labels), ", wanted ", to_text(wanted));
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
