// The buffer of a thread that gathers: what it copies and sums first, then coefficients of the norm of its source, then
// moments of its results.
#pragma once

#include "kernels/cpu/conv_moments.h"
#include "kernels/cpu/conv_norm.h"

namespace thimble::kernels::THIMBLE_ISA {

struct GatherBuffer {
  std::int64_t copied = 0;  // elements
  const SourceNorm& norm;
  const OutMoments& moments;

  std::int64_t elements() const { return copied + norm.elements() + moments.elements(); }

  // `operands` are those of the norm.
  BandNorm norm_in(float* buffer, std::span<const TensorView> operands) const {
    return {norm, operands, buffer + copied};
  }
  PieceMoments moments_in(float* buffer) const { return {moments, buffer + copied + norm.elements()}; }
  ThreadMoments all_moments(float* buffers, int threads) const {
    return {moments, buffers + copied + norm.elements(), elements(), threads};
  }
};

}  // namespace thimble::kernels::THIMBLE_ISA
