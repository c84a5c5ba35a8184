// Kernels that multiply bf16 two by two serve bf16 sources alone, and round what is not bf16 yet.
#pragma once

#include <span>
#include <string_view>

#include "kernels/kernel.h"

namespace thimble::testing {

inline bool serves_bf16_alone(const Kernel& kernel) {
  return kernel.isa == Isa::avx512_bf16 || kernel.isa == Isa::amx_bf16;
}

// Weights, which stand behind the source, what a norm makes, and all that Winograd's transforms make.
inline bool rounds_operands(const Kernel& kernel, std::span<const Type> in) {
  const bool transforms = kernel.name.starts_with("winograd_");
  const bool reads_weights = kernel.op.find("conv2d") != std::string_view::npos && !kernel.op.ends_with("_weight");
  const bool normalizes = kernel.op.starts_with("norm_");
  return serves_bf16_alone(kernel) && (transforms || normalizes || (reads_weights && in[1].dtype != DType::bf16));
}

}  // namespace thimble::testing
