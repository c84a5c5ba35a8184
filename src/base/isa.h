// The instruction sets we build kernels for, and which of them this machine runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace thimble {

enum class Isa : std::uint8_t { generic, avx2, avx512, avx512_bf16 };  // each includes those before it

Isa detect_isa();
std::string_view name_of(Isa isa);
std::optional<Isa> isa_from_name(std::string_view name);

// What kernels are chosen for.
struct Target {
  Isa isa = Isa::generic;
  int threads = 1;
};

}  // namespace thimble
