#include "kernels/support/matrix_emulator.h"

#if defined(__x86_64__) && defined(__linux__)

#include <immintrin.h>
#include <ucontext.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>

namespace thimble::testing {
namespace {

constexpr int kRegisters = 8, kRows = 16, kRowBytes = 64;

struct Register {
  int rows = 0, row_bytes = 0;
  std::array<std::array<std::uint8_t, kRowBytes>, kRows> data = {};

  void clear() { data = {}; }
};

struct Registers {
  bool are_shaped = false;
  std::array<Register, kRegisters> all = {};
};

thread_local Registers registers;

// A three-byte VEX instruction: its opcode, prefix, registers, and the address of its operand in memory if it has one.
struct Instruction {
  std::uint8_t opcode = 0, prefix = 0;  // prefix: 0 none, 1 66, 2 F3, 3 F2
  unsigned reg = 0, rm = 0, vvvv = 0;
  bool has_memory = false;
  std::uint8_t* address = nullptr;  // of row 0
  std::int64_t stride = 0;          // from row to row: what stands in the index register
  int length = 0;
};

std::int64_t general_register(const ucontext_t& context, unsigned number) {
  static constexpr int kOrder[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                   REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return context.uc_mcontext.gregs[kOrder[number]];
}

// Of the map 0F 38 alone; length 0: another instruction.
Instruction decode(const std::uint8_t* code, const ucontext_t& context) {
  Instruction in;
  if (code[0] != 0xC4 || (code[1] & 0x1F) != 2) return in;
  if ((code[2] & 0x84) != 0) return in;  // W and L are zero in all of them
  const unsigned r = (code[1] & 0x80) == 0 ? 8 : 0, x = (code[1] & 0x40) == 0 ? 8 : 0,
                 b = (code[1] & 0x20) == 0 ? 8 : 0;
  in.prefix = code[2] & 3;
  in.vvvv = (~code[2] >> 3) & 15;
  in.opcode = code[3];
  const std::uint8_t modrm = code[4];
  const unsigned mode = modrm >> 6;
  in.reg = ((modrm >> 3) & 7) + r;
  in.rm = (modrm & 7) + b;
  int at = 5;
  if (mode != 3) {
    in.has_memory = true;
    std::int64_t address = 0, scale = 0;
    bool has_base = true;
    unsigned base = in.rm;
    if ((modrm & 7) == 4) {
      const std::uint8_t sib = code[at++];
      base = (sib & 7) + b;
      const unsigned index = ((sib >> 3) & 7) + x;
      scale = 1 << (sib >> 6);
      if (index != 4) in.stride = general_register(context, index) * scale;
      has_base = mode != 0 || (sib & 7) != 5;
    } else if (mode == 0 && (modrm & 7) == 5) {
      return in;  // beside the instruction: nothing of ours lies there
    }
    if (has_base) address = general_register(context, base);
    if (mode == 1) {
      address += static_cast<std::int8_t>(code[at]);
      at += 1;
    } else if (mode == 2 || !has_base) {
      std::int32_t far = 0;
      std::memcpy(&far, code + at, sizeof(far));
      address += far;
      at += 4;
    }
    in.address = reinterpret_cast<std::uint8_t*>(address);
  }
  in.length = at;
  return in;
}

float factor(const Register& from, int row, int place) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, &from.data[static_cast<std::size_t>(row)][static_cast<std::size_t>(2 * place)], sizeof(bits));
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// Even and odd places are summed apart, each with one rounding a product, then both and the old sum are added. Numbers
// too small for full precision count as zero, as factors and as sums: `emulate` has set the processor to that.
__attribute__((target("avx2,fma"))) void add_products(Register& sums, const Register& a, const Register& b) {
  float factors[kRows][2 * kRows];
  for (int k = 0; k < a.row_bytes / 4; ++k) {
    for (int n = 0; n < sums.row_bytes / 2; ++n) factors[k][n] = factor(b, k, n);
  }
  for (int m = 0; m < sums.rows; ++m) {
    float parts[2 * kRows] = {};
    for (int k = 0; k < a.row_bytes / 4; ++k) {
      const float both[] = {factor(a, m, 2 * k), factor(a, m, 2 * k + 1)};
      for (int n = 0; n < sums.row_bytes / 2; ++n) parts[n] = std::fma(both[n % 2], factors[k][n], parts[n]);
    }
    for (int n = 0; n < sums.row_bytes / 4; ++n) {
      float sum = 0;
      std::uint8_t* place = &sums.data[static_cast<std::size_t>(m)][static_cast<std::size_t>(4 * n)];
      std::memcpy(&sum, place, sizeof(sum));
      sum += parts[2 * n] + parts[2 * n + 1];
      std::memcpy(place, &sum, sizeof(sum));
    }
  }
}

bool take_shapes(const std::uint8_t* from) {
  if (from[0] != 1 || from[1] != 0) return false;  // the palette, and the row at which an instruction was interrupted
  const auto are_zero = [&](int begin, int end) {
    return std::all_of(from + begin, from + end, [](std::uint8_t byte) { return byte == 0; });
  };
  if (!are_zero(2, 16) || !are_zero(32, 48) || !are_zero(56, 64)) return false;  // reserved, and registers 8 to 15
  registers = {};
  for (std::size_t i = 0; i < kRegisters; ++i) {
    Register& r = registers.all[i];
    std::uint16_t row_bytes = 0;
    std::memcpy(&row_bytes, from + 16 + 2 * i, sizeof(row_bytes));
    r.row_bytes = row_bytes;
    r.rows = from[48 + i];
    if (r.rows > kRows || r.row_bytes > kRowBytes || r.row_bytes % 4 != 0 || (r.rows == 0) != (r.row_bytes == 0))
      return false;
  }
  registers.are_shaped = true;
  return true;
}

void load_rows(Register& to, const Instruction& in) {
  to.clear();
  for (int r = 0; r < to.rows; ++r)
    std::copy_n(in.address + r * in.stride, to.row_bytes, to.data[static_cast<std::size_t>(r)].begin());
}

void store_rows(const Register& from, const Instruction& in) {
  for (int r = 0; r < from.rows; ++r)
    std::copy_n(from.data[static_cast<std::size_t>(r)].begin(), from.row_bytes, in.address + r * in.stride);
}

// False where the processor would fault too.
bool execute(const Instruction& in) {
  const auto shaped = [](unsigned number) {
    return registers.are_shaped && number < kRegisters && registers.all[number].rows > 0;
  };
  if (in.opcode == 0x49 && in.prefix == 0) {
    if (in.has_memory) return in.reg == 0 && take_shapes(in.address);
    registers = {};  // let go
    return true;
  }
  if (!shaped(in.reg)) return false;
  Register& target = registers.all[in.reg];
  if (in.opcode == 0x49 && in.prefix == 3 && !in.has_memory) {
    target.clear();
    return true;
  }
  if (in.opcode == 0x4B && in.has_memory && (in.prefix == 3 || in.prefix == 2)) {
    in.prefix == 3 ? load_rows(target, in) : store_rows(target, in);
    return true;
  }
  if (in.opcode != 0x5C || in.prefix != 2 || in.has_memory) return false;
  if (!shaped(in.rm) || !shaped(in.vvvv)) return false;
  const Register& a = registers.all[in.rm];
  const Register& b = registers.all[in.vvvv];
  const bool are_three = in.reg != in.rm && in.reg != in.vvvv && in.rm != in.vvvv;
  const bool fit = target.rows == a.rows && target.row_bytes == b.row_bytes && a.row_bytes / 4 == b.rows;
  if (!are_three || !fit) return false;
  add_products(target, a, b);
  return true;
}

// Goes on as long as such instructions follow: each fault costs a turn through the system.
void emulate(int signal, siginfo_t*, void* data) {
  constexpr unsigned kUsual = _MM_MASK_MASK, kSmallIsZero = _MM_FLUSH_ZERO_ON | 0x40;  // 0x40: factors too
  _mm_setcsr(kUsual | kSmallIsZero);                                                   // until the return from here
  auto& context = *static_cast<ucontext_t*>(data);
  auto& place = context.uc_mcontext.gregs[REG_RIP];
  int done = 0;
  for (;; ++done) {
    const Instruction in = decode(reinterpret_cast<const std::uint8_t*>(place), context);
    if (in.length == 0 || !execute(in)) break;
    place += in.length;
  }
  if (done == 0) std::signal(signal, SIG_DFL);  // not ours: faults again and ends the process
}

}  // namespace

Isa tested_isa() {
  static const Isa kTested = [] {
    if (detect_isa() != Isa::avx512_bf16) return detect_isa();
    struct sigaction emulating = {};
    emulating.sa_sigaction = emulate;
    emulating.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGILL, &emulating, nullptr);
    return Isa::amx_bf16;
  }();
  return kTested;
}

}  // namespace thimble::testing

#else

namespace thimble::testing {

Isa tested_isa() { return detect_isa(); }

}  // namespace thimble::testing

#endif
