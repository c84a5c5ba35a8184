// A dot product a sample and channel: f32 within a block of rows, double across blocks.
#include "kernels/cpu/columns.h"

namespace thimble::kernels::THIMBLE_ISA::scale_channels_grad_kernel {
namespace {

Matrix sample_matrix(const Shape& x) { return matrix_of(x[1] * x[2], x[3], x.count()); }

// One thread's sums: of x, which nobody asks for, and of x dy, (width rounded to cache lines) each.
struct Space {
  double *x_sums = nullptr, *products = nullptr;
};

std::int64_t stride_of(const Matrix& m) { return round_up(m.width(), 8); }
Space carve(Carver& carver, const Matrix& m, int threads) {
  return {carver.take<double>(threads * stride_of(m)), carver.take<double>(threads * stride_of(m))};
}

Bytes workspace(const KernelQuery& q) {
  Carver carver;
  const Shape& x = q.in[0].shape;
  carve(carver, sample_matrix(x), threads_for(x.count(), q.threads));
  return carver.used();
}

template <typename T>
struct ProductTerms {
  const T* x;
  const T* dy;
  struct Panel {};
  template <typename Lanes>
  [[gnu::always_inline]] Panel open(std::int64_t, Lanes) const {
    return {};
  }
  template <typename Lanes>
  [[gnu::always_inline]] void step(const Panel&, std::int64_t index, Lanes lanes, Vec& p, Vec& q) const {
    p = load(x + index, lanes);
    q = load(dy + index, lanes);
  }
  [[gnu::always_inline]] void fetch_ahead(std::int64_t index) const {
    fetch(x + index);
    fetch(dy + index);
  }
};

void sum_sample(const Matrix& m, std::int64_t sample, const Call& call, const Space& own) {
  clear(own.x_sums, m.width());
  clear(own.products, m.width());
  with_element(call.in[0].dtype, [&](auto element) {
    using T = decltype(element);
    const ProductTerms<T> terms = {call.in[0].as<const T>(), call.in[1].as<const T>()};
    sum_columns(m, {sample * m.count(), (sample + 1) * m.count()}, terms, own.x_sums, own.products);
  });
  gather_folds(m, own.products);
  for (std::int64_t c = 0; c < m.channels; ++c) store(call.out[0], sample * m.channels + c, own.products[c]);
}

Status run(const KernelState&, const Call& call) noexcept {
  const Shape& x = call.in[0].shape;
  const Matrix m = sample_matrix(x);
  const int threads = threads_for(x.count(), call.threads);
  Carver carver(call.workspace);
  const Space space = carve(carver, m, threads);
  parallel(threads, [&](int thread, int count) {
    const Space own = {space.x_sums + thread * stride_of(m), space.products + thread * stride_of(m)};
    const Range samples = part_of(x[0], thread, count);
    for (std::int64_t sample = samples.begin; sample < samples.end; ++sample) sum_sample(m, sample, call, own);
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "scale_channels_grad",
                           .name = "scale_channels_grad",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .workspace = workspace,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::scale_channels_grad_kernel
