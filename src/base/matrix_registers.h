// Whether this process may use matrix registers for bf16 (AMX).
#pragma once

namespace thimble {

// Asks the processor, asks the system for permission, which it gives to the whole process, and then multiplies a
// little: some virtual machines announce the registers and do not describe them, and only trying tells. Asked once.
bool has_matrix_registers();

// The steps of it. Whether a small product comes out right; a process without the registers or permission dies of it.
bool multiplies_in_matrix_registers();
// The same, but false instead.
bool try_matrix_registers();

}  // namespace thimble
