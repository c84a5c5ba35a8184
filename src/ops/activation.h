// The attribute 'activation' of ops that end in a rectifier at no extra memory.
#pragma once

#include "ir/grad_builder.h"
#include "ops/check.h"

namespace thimble::ops {

constexpr AttributeDef kActivationAttribute = {"activation", AttributeKind::word, "none"};

enum class Activation : std::uint8_t { none, relu, relu6 };

inline Activation activation_of(const OpQuery& q, std::string_view attribute = "activation") {
  const std::string& word = q.word(attribute);
  return word == "relu" ? Activation::relu : word == "relu6" ? Activation::relu6 : Activation::none;
}

inline void require_activation(std::string_view op, const OpQuery& q, std::string_view attribute = "activation") {
  const std::string& word = q.word(attribute);
  require(word == "none" || word == "relu" || word == "relu6", op, ": attribute '", attribute, "' is '", word,
          "', wanted none, relu or relu6");
}

// NaN passes: a diverging run must not look healthy.
inline double activate(Activation activation, double value) noexcept {
  if (activation == Activation::none) return value;
  if (activation == Activation::relu6 && value >= 6) return 6;
  return value <= 0 ? 0 : value;
}

// Whether a gradient passes, seen from the value before the activation.
inline bool lets_pass(Activation activation, double before) noexcept {
  return activation == Activation::none || (before > 0 && (activation == Activation::relu || before < 6));
}

// The gradient of what stood before the activation. Reads the output only where there is one. The word is the name of
// the op it stands for.
inline ValueId gradient_before_activation(GradBuilder& g) {
  const std::string& word = g.attributes().word("activation");
  return word == "none" ? g.grad() : g.apply(word + "_grad", {g.out(), g.grad()});
}

}  // namespace thimble::ops
