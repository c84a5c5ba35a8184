// A kernel serves one op on one instruction set. It knows numbers and pointers, never graphs. All memory it needs is
// asked for in advance: `workspace` is placed in the arena, `resident` is code and descriptors it holds outside. run
// allocates nothing.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/call.h"
#include "base/isa.h"
#include "base/type.h"

namespace thimble {

struct KernelQuery {
  std::span<const Type> in;
  std::span<const Type> out;
  const Attributes* attributes = nullptr;
  int threads = 1;
};

struct KernelState {
  KernelState() = default;
  KernelState(const KernelState&) = delete;
  KernelState& operator=(const KernelState&) = delete;
  virtual ~KernelState() = default;
};

struct Kernel {
  std::string_view op;
  std::string_view name;
  Isa isa = Isa::generic;  // the least that the machine must run
  int rank = 0;            // the highest rank that does not refuse wins
  double pace = 1;         // arithmetic of the op in the time of as much of f32 done directly, for predictions
  std::string (*refuse)(const KernelQuery&) = nullptr;  // empty: serves; else the reason
  Bytes (*workspace)(const KernelQuery&) = nullptr;     // null: none
  Bytes (*resident)(const KernelQuery&) = nullptr;      // null: none
  std::unique_ptr<KernelState> (*prepare)(const KernelQuery&) = nullptr;
  Status (*run)(const KernelState&, const Call&) noexcept = nullptr;
};

using KernelTable = std::span<const Kernel* const>;

KernelTable cpu_kernels();  // made from the directory listing of kernels/cpu

}  // namespace thimble
