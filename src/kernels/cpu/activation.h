// What a kernel may end in, on vectors: forward, and the mask of its gradient.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

enum class Activation : std::uint8_t { none, relu, relu6 };

static inline Activation activation_of(const Attributes& attributes, std::string_view name) {
  const std::string& word = attributes.word(name);
  return word == "relu" ? Activation::relu : word == "relu6" ? Activation::relu6 : Activation::none;
}

static inline Activation activation_of(const KernelQuery& q) { return activation_of(*q.attributes, "activation"); }

THIMBLE_INLINE Vec relu6(Vec x) { return min(broadcast(6), relu(x)); }  // NaN passes

// `a` where 0 < gate < 6, else zero. The difference of two floats is zero only where they are equal.
THIMBLE_INLINE Vec where_inside_relu6(Vec gate, Vec a) {
  return where_positive(gate, where_positive(sub(broadcast(6), gate), a));
}

THIMBLE_INLINE Vec activate(Activation activation, Vec x) {
  return activation == Activation::none ? x : activation == Activation::relu ? relu(x) : relu6(x);
}

// `gradient` where the activation lets it pass, seen from the value before it or behind it, else zero.
THIMBLE_INLINE Vec where_active(Activation activation, Vec value, Vec gradient) {
  if (activation == Activation::none) return gradient;
  return activation == Activation::relu ? where_positive(value, gradient) : where_inside_relu6(value, gradient);
}

// Calls body with the activation as a compile-time fact.
template <typename Body>
THIMBLE_INLINE void with_activation(Activation activation, Body&& body) {
  switch (activation) {
    case Activation::none: return body(std::integral_constant<Activation, Activation::none>{});
    case Activation::relu: return body(std::integral_constant<Activation, Activation::relu>{});
    case Activation::relu6: return body(std::integral_constant<Activation, Activation::relu6>{});
  }
}

}  // namespace thimble::kernels::THIMBLE_ISA
