// Whether this process may use matrix registers for bf16 (AMX).
#pragma once

#include <cstdint>

namespace thimble {

// As the instruction that gives the registers their shapes reads it: eight are used of sixteen places.
struct alignas(64) MatrixShapes {
  std::uint8_t palette = 1, first_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};
static_assert(sizeof(MatrixShapes) == 64);

// Asks the processor, asks the system for permission, which it gives to the whole process, and then multiplies a
// little: some virtual machines announce the registers and do not describe them, and only trying tells. Asked once.
bool has_matrix_registers();

// The steps of it. Whether a small product comes out right; a process without the registers or permission dies of it.
bool multiplies_in_matrix_registers();
// The same, but false instead.
bool try_matrix_registers();

}  // namespace thimble
