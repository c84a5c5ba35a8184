// Which convolutions the Winograd kernels serve. The rule knows types and shapes alone, never threads or instruction
// sets, so that a network has the same kernels wherever it runs.
#pragma once

#include "kernels/cpu/conv_shape.h"
#include "kernels/cpu/units.h"

namespace thimble::kernels::THIMBLE_ISA {

// Above the direct kernels of all vectors: whatever one Winograd kernel refuses, all refuse.
constexpr int kWinogradRank = static_cast<int>(Isa::avx512) + static_cast<int>(kIsa);

// Measured, transforms included.
constexpr double kGatherPace = kHasPairs ? 2.8 : 1.6, kGradientPace = kHasPairs ? 2.4 : 1.35;

constexpr int kWinogradThreads = 2;  // for which the rule counts workspace
// Of source and output that the workspace may be: from there on, it is cut into smaller pieces, at some cost in time,
// which shows the more where products are fast, and may be the second.
constexpr std::int64_t kUsualPart = kHasPairs ? 3 : 4, kLargestPart = 2;

// Units are what `source` holds; where they are pairs, weights are rounded once they are transformed.
inline std::string refuse_winograd_types(const KernelQuery& q, const Type& source) {
  if (kHasPairs) return source.dtype == kUnitDType ? refuse_unstored(q) : "multiplies pairs of bf16";
  for (const std::span<const Type> types : {q.in, q.out}) {
    for (const Type& type : types) {
      if (type.dtype != DType::f32) return "serves f32 only";
    }
  }
  return "";
}

// What a direction must save for its transforms to pay, as measured: products of the direct kernels, which leave out
// those beyond the border, in percent of those made here; and pairs of channels.
struct WinogradGain {
  std::int64_t least_percent = 0, least_pairs = 0;
};
constexpr WinogradGain kGatherGain = {150, 16 * 16}, kGradientGain = {140, 16 * 32};

inline std::string refuse_winograd_shape(const ConvShape& s, const WinogradGain& gain) {
  if (s.kernel_height != 3 || s.kernel_width != 3 || s.stride != 1 || s.padding != 1 || s.dilation != 1)
    return "serves 3x3 windows of stride, padding and dilation 1 only";
  if (s.groups != 1) return "serves one group only";
  if (s.channels < 16 || s.out_channels < 16 || s.channels * s.out_channels < gain.least_pairs)
    return "saves no time with few channels";
  const std::int64_t direct = (3 * s.height - 2) * (3 * s.width - 2);
  const std::int64_t made = 16 * divide_up(s.height, 2) * divide_up(s.width, 2);
  return refuse_unless(direct * 100 >= made * gain.least_percent, "saves no time on maps of such a size");
}

inline bool is_large_workspace(const ConvShape& s, Bytes workspace, std::int64_t part) {
  return workspace > s.batch * s.height * s.width * (s.channels + s.out_channels) * bytes_of(kUnitDType) / part;
}

inline std::string refuse_winograd_workspace(const ConvShape& s, Bytes workspace) {
  return refuse_unless(!is_large_workspace(s, workspace, kLargestPart),
                       "would need too much workspace for so small maps");
}

}  // namespace thimble::kernels::THIMBLE_ISA
