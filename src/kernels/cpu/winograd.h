// Winograd's minimal filtering F(2x2, 3x3) on vectors of channels: a tile of 2x2 outputs of a 3x3 convolution from 16
// products instead of 36,
//   y = A^T [(G w G^T) * (B^T x B)] A   with x (4, 4), w (3, 3), y (2, 2),
// and, the same read backwards, the gradient of the weights, dw = G^T [(B^T x B) * (A dy A^T)] G. The fourth row of B^T
// and of A carries the other sign than usual, so that nothing is ever negated. Knows neither tensors nor borders.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

constexpr int kWinogradOut = 2;                             // outputs of a tile along an axis
constexpr int kWinogradIn = 4;                              // inputs of a tile along an axis
constexpr int kWinogradPoints = kWinogradIn * kWinogradIn;  // products of a tile for each pair of channels
constexpr int kWinogradTaps = 3;

// B^T along one axis.
THIMBLE_INLINE void transform_source(Vec (&to)[4], Vec a, Vec b, Vec c, Vec d) {
  to[0] = multiplier_sub(a, c);
  to[1] = multiplier_add(b, c);
  to[2] = multiplier_sub(c, b);
  to[3] = multiplier_sub(d, b);
}

// A along one axis.
THIMBLE_INLINE void spread_gradient(Vec (&to)[4], Vec a, Vec b) {
  to[0] = a;
  to[1] = multiplier_add(a, b);
  to[2] = multiplier_sub(a, b);
  to[3] = b;
}

// A^T along one axis.
THIMBLE_INLINE void gather_outputs(Vec (&to)[2], Vec a, Vec b, Vec c, Vec d) {
  to[0] = multiplier_add(add(b, c), a);
  to[1] = multiplier_add(sub(b, c), d);
}

// G along one axis.
THIMBLE_INLINE void transform_weights(Vec (&to)[4], Vec a, Vec b, Vec c) {
  const Vec half = broadcast(0.5F), ends = mul(half, add(a, c)), middle = mul(half, b);
  to[0] = a;
  to[1] = add(ends, middle);
  to[2] = sub(ends, middle);
  to[3] = c;
}

// G^T along one axis.
THIMBLE_INLINE void gather_weights(Vec (&to)[3], Vec a, Vec b, Vec c, Vec d) {
  const Vec half = broadcast(0.5F), both = mul(half, add(b, c));
  to[0] = add(a, both);
  to[1] = mul(half, sub(b, c));
  to[2] = add(both, d);
}

}  // namespace thimble::kernels::THIMBLE_ISA
