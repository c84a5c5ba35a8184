// The attribute 'activation' of ops that end in a rectifier at no extra memory.
#pragma once

#include "ir/grad_builder.h"
#include "ops/check.h"

namespace thimble::ops {

constexpr AttributeDef kActivationAttribute = {"activation", AttributeKind::word, "none"};

inline bool ends_in_relu(const OpQuery& q) { return q.word("activation") == "relu"; }

inline void require_activation(std::string_view op, const OpQuery& q) {
  const std::string& word = q.word("activation");
  require(word == "none" || word == "relu", op, ": attribute 'activation' is '", word, "', wanted none or relu");
}

inline double activate(bool is_relu, double value) noexcept { return is_relu && value <= 0 ? 0 : value; }  // NaN passes

// The gradient of what stood before the activation. Reads the output only where there is a rectifier.
inline ValueId gradient_before_activation(GradBuilder& g) {
  if (g.attributes().word("activation") != "relu") return g.grad();
  return g.apply("relu_grad", {g.out(), g.grad()});
}

}  // namespace thimble::ops
