// dx = dy where the element's bit is set.
#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA::relu_grad_bits_kernel {
namespace {

std::string refuse(const KernelQuery& q) {
  return refuse_unless(is_stored(q.in[1].dtype) && q.in[1].dtype == q.out[0].dtype, "serves f32 and bf16 only");
}

template <typename T>
void apply(const std::uint8_t* bits, const T* dy, std::int64_t begin, std::int64_t end, T* dx) {
  each_vector(begin, end, [=](std::int64_t i, auto lanes) {
    unsigned word = 0;
    for (int byte = 0; 8 * byte < lanes.count; ++byte) word |= static_cast<unsigned>(bits[i / 8 + byte]) << (8 * byte);
    store_bits(dx + i, where_bits(word >> place_in_byte(i), load(dy + i, lanes)), lanes);
  });
}

Status run(const KernelState&, const Call& call) noexcept {
  const std::int64_t count = call.in[1].shape.count();
  with_element(call.in[1].dtype, [&](auto element) {
    using T = decltype(element);
    const std::uint8_t* bits = call.in[0].as<const std::uint8_t>();
    const T* dy = call.in[1].as<const T>();
    T* dx = call.out[0].as<T>();
    parallel_for(threads_for(count, call.threads), (count + 7) / 8, [=](std::int64_t begin, std::int64_t end) {
      apply(bits, dy, begin * 8, smaller(end * 8, count), dx);
    });
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "relu_grad_bits",
                           .name = "relu_grad_bits",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::relu_grad_bits_kernel
