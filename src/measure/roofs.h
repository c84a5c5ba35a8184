// What a machine can do at most: arithmetic from registers, and bytes to and from memory. The time that no kernel with
// so much work can beat follows from both.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "base/isa.h"

namespace thimble {

struct Roofs {
  double flops_per_second = 0;                         // f32 multiply-adds, each counted as two
  std::optional<double> bf16_flops_per_second = {};    // dot products of bf16; none: the machine has no such thing
  std::optional<double> matrix_flops_per_second = {};  // products of matrices of bf16, likewise
  double read_bytes_per_second = 0;                    // from far beyond the cache, nothing being written
  double bytes_per_second = 0;                         // read and written, far beyond the cache
  Bytes cache_bytes = 0;                               // of the last level; 0: unknown
};

// With all threads of the target, and no wider vectors than its kernels have. Takes about a second, and for that time
// eight times the last-level cache or 256 MiB, twice, but no more than a quarter of the memory.
Roofs measure_roofs(const Target& target);

// The better of each of two measurements: what else a machine does only takes away.
Roofs better_of(const Roofs& first, const Roofs& second);

// What a kernel multiplies: f32, however it stores, pairs of bf16, or matrices of it.
enum class Products { f32, bf16_pairs, bf16_matrices };

inline Products products_of(Isa isa) {
  return isa == Isa::amx_bf16      ? Products::bf16_matrices
         : isa == Isa::avx512_bf16 ? Products::bf16_pairs
                                   : Products::f32;
}

// What a call asks of the machine.
struct Demand {
  Products products = Products::f32;
  double flops = 0;
  double bytes = 0;       // read and written, each operand once
  double read_bytes = 0;  // of these, those read
};

// The longest of arithmetic, traffic and reading, since they can overlap.
double roof_seconds(const Roofs& roofs, const Demand& demand);

}  // namespace thimble
