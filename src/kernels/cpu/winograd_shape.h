// Which convolutions the Winograd kernels serve. The rule knows types and shapes alone, never threads or instruction
// sets, so that a network has the same kernels wherever it runs.
#pragma once

#include "kernels/cpu/conv_shape.h"

namespace thimble::kernels::THIMBLE_ISA {

// Above the direct kernels of every instruction set: whatever one Winograd kernel refuses, all refuse.
constexpr int kWinogradRank = static_cast<int>(Isa::avx512) + static_cast<int>(kIsa);

constexpr int kWinogradThreads = 2;         // for which the rule counts workspace
constexpr std::int64_t kWorkspacePart = 4;  // of source and output that the workspace may be

inline std::string refuse_winograd_types(const KernelQuery& q) {
  for (const std::span<const Type> types : {q.in, q.out}) {
    for (const Type& type : types) {
      if (type.dtype != DType::f32) return "serves f32 only";
    }
  }
  return "";
}

inline std::string refuse_winograd_shape(const ConvShape& s) {
  if (s.kernel_height != 3 || s.kernel_width != 3 || s.stride != 1 || s.padding != 1 || s.dilation != 1)
    return "serves 3x3 windows of stride, padding and dilation 1 only";
  if (s.groups != 1) return "serves one group only";
  if (s.channels < 16 || s.out_channels < 16) return "saves no time with few channels";
  return "";
}

inline std::string refuse_winograd_workspace(const ConvShape& s, Bytes workspace) {
  const Bytes maps = s.batch * s.height * s.width * (s.channels + s.out_channels) * 4;
  return refuse_unless(workspace <= maps / kWorkspacePart, "would need too much workspace for so small maps");
}

}  // namespace thimble::kernels::THIMBLE_ISA
