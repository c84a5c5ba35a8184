// Dropout: keeps x / (1 - p) where the number drawn for the element's place in the batch is at least p.
#include "kernels/cpu/philox.h"

namespace thimble::kernels::THIMBLE_ISA::dropout_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

struct State : KernelState {
  std::uint32_t bound = 0;  // words from here on keep their element
  float scale = 1;
  std::uint64_t key = 0;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  const double p = q.attributes->number("p");
  // word / 2^32 >= p for the same words as word >= ceil(p * 2^32), which is exact in double; p just below 1 would reach
  // 2^32.
  const double bound = std::ceil(p * 0x1.0p32);
  state->bound = bound > 0xFFFFFFFFU ? 0xFFFFFFFFU : static_cast<std::uint32_t>(bound);
  state->scale = static_cast<float>(1 / (1 - p));
  state->key = static_cast<std::uint64_t>(q.attributes->integer("key"));
  return state;
}

template <typename T>
void apply(const State& state, RandomKey key, const RunScalars& scalars, std::int64_t first, const T* x, Range range,
           T* y) {
  const Vec scale = broadcast(state.scale);
  each_vector(range.begin, range.end, [&](std::int64_t i, auto lanes) {
    const Words words = first_words(key, static_cast<std::uint64_t>(scalars.iteration),
                                    [&](int lane) { return static_cast<std::uint64_t>(first + i + lane); });
    store(y + i, where_bits(at_least_bits(words, state.bound), mul(load(x + i, lanes), scale)), lanes);
  });
}

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const State&>(base);
  const RandomKey key = random_key(call.scalars->seed, RandomPurpose::dropout, state.key);
  const Shape& shape = call.in[0].shape;
  const std::int64_t count = shape.count(), first = call.scalars->sample_offset * (count / shape[0]);
  with_element(call.in[0].dtype, [&](auto element) {
    using T = decltype(element);
    parallel_for(threads_for(count, call.threads), count, [&](std::int64_t begin, std::int64_t end) {
      apply(state, key, *call.scalars, first, call.in[0].as<const T>(), {begin, end}, call.out[0].as<T>());
    });
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "dropout",
                           .name = "dropout",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::dropout_kernel
