// Change of element type between f32 and bf16.
#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA::cast_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_unstored(q); }

Status run(const KernelState&, const Call& call) noexcept {
  const std::int64_t count = call.in[0].shape.count();
  with_element(call.in[0].dtype, [&](auto from_element) {
    with_element(call.out[0].dtype, [&](auto to_element) {
      const auto* from = call.in[0].as<const decltype(from_element)>();
      auto* to = call.out[0].as<decltype(to_element)>();
      parallel_for(threads_for(count, call.threads), count, [=](std::int64_t begin, std::int64_t end) {
        each_vector(begin, end, [=](std::int64_t i, auto lanes) { store(to + i, load(from + i, lanes), lanes); });
      });
    });
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "cast",
                           .name = "cast",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::cast_kernel
