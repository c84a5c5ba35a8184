#include "base/matrix_registers.h"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <csetjmp>
#include <csignal>
#include <cstdint>

namespace thimble {
namespace {

bool are_announced() {
  constexpr unsigned kBf16 = 1U << 22, kRegisters = 1U << 24;  // CPUID, leaf 7, EDX
  constexpr unsigned kSavesState = 1U << 27;                   // leaf 1, ECX: XGETBV answers
  constexpr unsigned kStates = 3U << 17;                       // XCR0: their shapes and their numbers
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kBf16) == 0 || (d & kRegisters) == 0) return false;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSavesState) == 0) return false;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & kStates) == kStates;
}

bool are_permitted() {
  constexpr long kAskPermission = 0x1023, kMatrixNumbers = 18;  // arch_prctl: ARCH_REQ_XCOMP_PERM, XTILEDATA
  return syscall(SYS_arch_prctl, kAskPermission, kMatrixNumbers) == 0;
}

constexpr int kRows = 16, kPairs = 16;

// Small integers, whose products and sums are exact.
int left(int row, int k) { return (3 * row + 5 * k) % 7 - 3; }
int right(int k, int column) { return (2 * k + 3 * column) % 5 - 2; }

std::uint16_t bf16_of(int value) {
  return static_cast<std::uint16_t>(__builtin_bit_cast(std::uint32_t, static_cast<float>(value)) >> 16);
}

}  // namespace

bool multiplies_in_matrix_registers() {
  alignas(64) std::uint16_t a[kRows][2 * kPairs], b[kPairs][2 * kRows];
  alignas(64) float sums[kRows][kRows] = {};
  for (int i = 0; i < kRows; ++i) {
    for (int k = 0; k < 2 * kPairs; ++k) {
      a[i][k] = bf16_of(left(i, k));
      b[k / 2][2 * i + k % 2] = bf16_of(right(k, i));
    }
  }
  const MatrixShapes shapes = {.row_bytes = {64, 64, 64}, .rows = {kRows, kRows, kRows}};
  asm volatile(
      "ldtilecfg %0\n\t"
      "tilezero %%tmm0\n\t"
      "tileloadd (%1,%4,1), %%tmm1\n\t"
      "tileloadd (%2,%4,1), %%tmm2\n\t"
      "tdpbf16ps %%tmm2, %%tmm1, %%tmm0\n\t"
      "tilestored %%tmm0, (%3,%4,1)\n\t"
      "tilerelease" ::"m"(shapes),
      "r"(a), "r"(b), "r"(sums), "r"(64L)
      : "memory");
  for (int i = 0; i < kRows; ++i) {
    for (int n = 0; n < kRows; ++n) {
      int wanted = 0;
      for (int k = 0; k < 2 * kPairs; ++k) wanted += left(i, k) * right(k, n);
      if (sums[i][n] != static_cast<float>(wanted)) return false;
    }
  }
  return true;
}

namespace {

sigjmp_buf after_fault;

}  // namespace

// Instructions that the machine does not have after all end here instead of ending the process.
bool try_matrix_registers() {
  struct sigaction catching = {}, before[2] = {};
  catching.sa_handler = [](int) { siglongjmp(after_fault, 1); };
  constexpr int kFaults[] = {SIGILL, SIGSEGV};
  for (int i = 0; i < 2; ++i) sigaction(kFaults[i], &catching, &before[i]);
  volatile bool is_right = false;
  if (sigsetjmp(after_fault, 1) == 0) is_right = multiplies_in_matrix_registers();
  for (int i = 0; i < 2; ++i) sigaction(kFaults[i], &before[i], nullptr);
  return is_right;
}

bool has_matrix_registers() {
  static const bool kAnswer = are_announced() && are_permitted() && try_matrix_registers();
  return kAnswer;
}

}  // namespace thimble

#else

namespace thimble {

bool multiplies_in_matrix_registers() { return false; }
bool try_matrix_registers() { return false; }
bool has_matrix_registers() { return false; }

}  // namespace thimble

#endif
