#include "base/isa.h"

#include "base/matrix_registers.h"

namespace thimble {

bool includes(Isa isa, Isa other) { return other == Isa::generic || other == isa || (isa != Isa::neon && other < isa); }

Isa detect_isa() {
#if defined(__x86_64__)
  // The compiler's own probe also asks the operating system (XGETBV) whether it saves the wide registers.
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const bool has_bf16 = has_avx512 && __builtin_cpu_supports("avx512bf16");
  if (has_bf16 && has_matrix_registers()) return Isa::amx_bf16;
  return has_bf16 ? Isa::avx512_bf16 : has_avx512 ? Isa::avx512 : has_avx2 ? Isa::avx2 : Isa::generic;
#elif defined(__aarch64__)
  return Isa::neon;  // belongs to the architecture
#else
  return Isa::generic;
#endif
}

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::generic: return "generic";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
    case Isa::avx512_bf16: return "avx512_bf16";
    case Isa::amx_bf16: return "amx_bf16";
    case Isa::neon: return "neon";
  }
  return "?";
}

std::optional<Isa> isa_from_name(std::string_view name) {
  for (const Isa isa : {Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx_bf16, Isa::neon}) {
    if (name_of(isa) == name) return isa;
  }
  return std::nullopt;
}

}  // namespace thimble
