// Runs a kernel the way the arena does, but with everything arranged to show mistakes: canaries round every tensor and
// the workspace, pointers off their alignment, rubbish in the workspace.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/kernel.h"
#include "support/op_cases.h"

namespace thimble::testing {

// Bytes with canaries on both sides, `shift` bytes off a cache line.
class GuardedBytes {
 public:
  GuardedBytes(std::size_t size, std::size_t shift, std::byte fill)
      : memory_(size + shift + 3 * kGuard, kCanary), size_(size) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    first_ = (kGuard - address % kGuard) % kGuard + kGuard + shift;
    std::fill_n(data(), size_, fill);
  }
  std::byte* data() { return memory_.data() + first_; }
  std::vector<std::byte> bytes() { return {data(), data() + size_}; }
  bool is_intact() const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if ((i < first_ || i >= first_ + size_) && memory_[i] != kCanary) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr std::byte kCanary{0xC5};
  std::vector<std::byte> memory_;
  std::size_t size_;
  std::size_t first_ = 0;
};

struct RunSetup {
  int threads = 1;
  bool is_shifted = false;              // tensors begin one element off a cache line
  std::byte rubbish{0xFF};              // what the workspace holds: NaN in every floating type
  std::vector<InPlacePair> pairs = {};  // outputs that lie over inputs
};

struct RunResult {
  Status status = Status::good;
  std::vector<Tensor> out;
  bool is_inside = true;      // no canary died
  bool leaves_inputs = true;  // inputs without an output over them are as they were
};

inline KernelQuery query_of(const OpCase& c, const std::vector<Type>& out, int threads) {
  return {c.in, out, &c.attributes, threads};
}

inline const InPlacePair* pair_of_output(const RunSetup& setup, std::size_t output) {
  for (const InPlacePair& pair : setup.pairs) {
    if (static_cast<std::size_t>(pair.output) == output) return &pair;
  }
  return nullptr;
}

inline RunResult run_kernel(const Kernel& kernel, const OpCase& c, const std::vector<Tensor>& in, const RunSetup& setup,
                            const RunScalars& scalars = kTestScalars) {
  const std::vector<Type> out_types = c.out();
  const KernelQuery query = query_of(c, out_types, setup.threads);
  const auto guarded = [&](const Type& type, std::byte fill) {
    const auto shift = static_cast<std::size_t>(setup.is_shifted ? bytes_of(type.dtype) : 0);
    return GuardedBytes(static_cast<std::size_t>(type.bytes()), shift, fill);
  };
  std::vector<GuardedBytes> inputs, outputs;
  std::vector<TensorView> in_views, out_views;
  for (const Tensor& tensor : in) {
    inputs.push_back(guarded(tensor.type, std::byte{0}));
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), inputs.back().data());
    in_views.push_back({inputs.back().data(), tensor.type.dtype, tensor.type.shape});
  }
  for (std::size_t k = 0; k < out_types.size(); ++k) {
    outputs.push_back(guarded(out_types[k], std::byte{0xFF}));
    const InPlacePair* pair = pair_of_output(setup, k);
    void* data = pair != nullptr ? in_views[static_cast<std::size_t>(pair->input)].data : outputs.back().data();
    out_views.push_back({data, out_types[k].dtype, out_types[k].shape});
  }
  const Bytes workspace_bytes = kernel.workspace == nullptr ? 0 : kernel.workspace(query);
  GuardedBytes workspace(static_cast<std::size_t>(workspace_bytes), 0, setup.rubbish);
  const std::unique_ptr<KernelState> state = kernel.prepare(query);
  const Call call{in_views, out_views, workspace_bytes == 0 ? nullptr : workspace.data(), &scalars, setup.threads};

  RunResult result;
  result.status = kernel.run(*state, call);
  result.is_inside = workspace.is_intact();
  for (const GuardedBytes& memory : inputs) result.is_inside = result.is_inside && memory.is_intact();
  for (const GuardedBytes& memory : outputs) result.is_inside = result.is_inside && memory.is_intact();
  for (std::size_t k = 0; k < out_types.size(); ++k) {
    const InPlacePair* pair = pair_of_output(setup, k);
    result.out.emplace_back(out_types[k]);
    result.out.back().bytes =
        pair != nullptr ? inputs[static_cast<std::size_t>(pair->input)].bytes() : outputs[k].bytes();
  }
  for (std::size_t k = 0; k < in.size(); ++k) {
    const bool is_overwritten = std::any_of(setup.pairs.begin(), setup.pairs.end(), [&](const InPlacePair& p) {
      return static_cast<std::size_t>(p.input) == k;
    });
    if (!is_overwritten && inputs[k].bytes() != in[k].bytes) result.leaves_inputs = false;
  }
  return result;
}

struct Difference {
  double relative_l2 = 0;   // |got - want| / |want|
  double relative_max = 0;  // largest |got - want| / largest |want|
};

// A NaN agrees with a NaN and with nothing else.
inline Difference difference_of(const Tensor& got, const Tensor& want) {
  double error = 0, norm = 0, largest_error = 0, largest = 0;
  for (std::int64_t i = 0; i < want.count(); ++i) {
    const double g = got.at(i), w = want.at(i);
    if (std::isnan(w) && std::isnan(g)) continue;
    const double distance = g == w ? 0 : std::isfinite(g - w) ? std::abs(g - w) : HUGE_VAL;
    error += distance * distance;
    norm += w * w;
    largest_error = std::max(largest_error, distance);
    largest = std::max(largest, std::abs(w));
  }
  if (error == 0) return {};
  return {norm > 0 ? std::sqrt(error / norm) : HUGE_VAL, largest > 0 ? largest_error / largest : HUGE_VAL};
}

}  // namespace thimble::testing
