// One bit an element: x > 0. Threads own whole bytes.
#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA::sign_bits_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_unstored(q); }

template <typename T>
void pack(const T* x, std::int64_t begin, std::int64_t end, std::uint8_t* bits) {
  each_vector(begin, end, [=](std::int64_t i, auto lanes) {
    // Lanes beyond the end are loaded as zero and so give zero bits.
    const unsigned word = positive_bits(load(x + i, lanes));
    if (const auto place = place_in_byte(i); place > 0) {
      bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | word << place);
      return;
    }
    for (int byte = 0; 8 * byte < lanes.count; ++byte)
      bits[i / 8 + byte] = static_cast<std::uint8_t>(word >> (8 * byte));
  });
}

Status run(const KernelState&, const Call& call) noexcept {
  const std::int64_t count = call.in[0].shape.count();
  with_element(call.in[0].dtype, [&](auto element) {
    using T = decltype(element);
    const T* x = call.in[0].as<const T>();
    std::uint8_t* bits = call.out[0].as<std::uint8_t>();
    parallel_for(threads_for(count, call.threads), (count + 7) / 8,
                 [=](std::int64_t begin, std::int64_t end) { pack(x, begin * 8, smaller(end * 8, count), bits); });
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "sign_bits",
                           .name = "sign_bits",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::sign_bits_kernel
