// The instruction sets we build kernels for, and which of them this machine runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace thimble {

enum class Isa : std::uint8_t { generic, avx2, avx512, avx512_bf16, amx_bf16, neon };

// Whether machines of `isa` run what was made for `other`: generic on all, and on x86 each set includes those before
// it.
bool includes(Isa isa, Isa other);

// The largest that this build has kernels for.
#if defined(__aarch64__)
constexpr Isa kLargestIsa = Isa::neon;
#else
constexpr Isa kLargestIsa = Isa::amx_bf16;
#endif

// Also gets the system's permission for what needs it: a process that has not asked may not run kernels of amx_bf16.
Isa detect_isa();
std::string_view name_of(Isa isa);
std::optional<Isa> isa_from_name(std::string_view name);

// What kernels are chosen for.
struct Target {
  Isa isa = Isa::generic;
  int threads = 1;
};

}  // namespace thimble
