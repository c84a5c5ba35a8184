// How parameters move: the rule, its numbers, and which parameters are spared weight decay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace thimble {

enum class OptimizerKind : std::uint8_t { sgd, momentum, nesterov, adamw };

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::momentum;
  double momentum = 0.9;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decay_vectors = true;  // false: norms and biases (rank 1) are spared weight decay
  double clip_norm = 0;       // all gradients together are scaled down to this length; 0: never

  friend bool operator==(const OptimizerSpec&, const OptimizerSpec&) = default;
};

std::string_view name_of(OptimizerKind kind);
OptimizerKind optimizer_from_name(std::string_view name);  // UserError for an unknown one

// Names of the optimizer's state values for one parameter, such as "momentum/fc.weight".
std::vector<std::string> state_names(OptimizerKind kind, std::string_view parameter);

// Whether sums over microbatches need a buffer of their own. Heavy-ball momentum adds into its own state, unless the
// sum is to be scaled before it gets there.
constexpr bool needs_accumulator(const OptimizerSpec& spec) {
  return spec.kind != OptimizerKind::momentum || spec.clip_norm > 0;
}

}  // namespace thimble
