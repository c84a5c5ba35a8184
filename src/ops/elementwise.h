// What ops share that make each element of their output from the same element of their inputs, all of one type.
#pragma once

#include "ops/check.h"
#include "ops/example_types.h"

namespace thimble::ops {

// The output is of the type of the inputs, which go by `names` in messages.
template <std::size_t kCount>
std::vector<Type> infer_alike(std::string_view op, const OpQuery& q, const std::string_view (&names)[kCount]) {
  require_inputs(op, q, kCount, kCount);
  require_floating(op, names[0], q.in[0]);
  for (std::size_t k = 1; k < kCount; ++k) require_type(op, names[k], q.in[k], q.in[0]);
  return {q.in[0]};
}

// out[i] = map(a[i]), and out[i] = map(a[i], b[i]). An element is read before it is written: right in place too.
template <typename Map>
void map_unary(const Call& call, Map map) noexcept {
  for (std::int64_t i = 0; i < call.out[0].shape.count(); ++i) store(call.out[0], i, map(load(call.in[0], i)));
}
template <typename Map>
void map_binary(const Call& call, Map map) noexcept {
  for (std::int64_t i = 0; i < call.out[0].shape.count(); ++i) {
    store(call.out[0], i, map(load(call.in[0], i), load(call.in[1], i)));
  }
}

inline double count_of(const OpQuery& q) { return static_cast<double>(q.in[0].shape.count()); }

inline std::vector<Example> unary_examples() {
  return {{{f32({2, 3, 5, 7})}, {}}, {{f32({1})}, {}}, {{f32({5, 19})}, {}}};
}
inline std::vector<Example> binary_examples() {
  return {{{f32({2, 3, 5, 7}), f32({2, 3, 5, 7})}, {}}, {{f32({1}), f32({1})}, {}}, {{f32({5, 19}), f32({5, 19})}, {}}};
}

}  // namespace thimble::ops
