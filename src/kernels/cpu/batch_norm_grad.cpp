// Gradient of batch norm: one pass that sums dy and dy * (x - mean) a channel, one that makes dx.
#include "kernels/cpu/batch_norm.h"

namespace thimble::kernels::THIMBLE_ISA::batch_norm_grad_kernel {
namespace {

std::string refuse(const KernelQuery& q) {
  if (q.in[5].dtype != q.in[0].dtype || q.out[0].dtype != q.in[0].dtype) return "serves x, dy and dx of one dtype only";
  return refuse_norm(q);
}

struct State : KernelState {
  Activation activation = Activation::none;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->activation = activation_of(q);
  return state;
}

// The second pass takes pieces of so many elements from the last to the first, as the last that the first pass read are
// in the caches still. Each is walked forward: hardware foresees ascending addresses alone.
constexpr std::int64_t kPieceElements = 128 * 1024;

struct Space {
  Matrix matrix;
  int threads = 1;
  Coefficients coefficients;
  float *slope = nullptr, *level = nullptr;  // (width)
  ColumnSums* sums = nullptr;                // (threads)
};
Space carve(Carver& carver, const Shape& shape, int threads) {
  const Matrix m = matrix_of(shape);
  const int used = threads_for(m.count(), threads);
  Space space{m,
              used,
              Coefficients::carve(carver, m),
              carver.take<float>(m.width()),
              carver.take<float>(m.width()),
              carver.take<ColumnSums>(used)};
  for (int thread = 0; thread < used; ++thread) {
    const ColumnSums sums = ColumnSums::carve(carver, m);
    if (space.sums != nullptr) space.sums[thread] = sums;
  }
  return space;
}

Bytes workspace(const KernelQuery& q) {
  Carver carver;
  carve(carver, q.in[0].shape, q.threads);
  return carver.used();
}

// dgamma, dbeta and the coefficients of dx = scale * (dy - dbeta / rows - (x - mean) * rstd * dgamma / rows).
void finish_sums(const Space& space, const Call& call) {
  const Matrix& m = space.matrix;
  const auto rows = static_cast<double>(m.rows);
  for (std::int64_t c = 0; c < m.channels; ++c) {
    double sum = 0, product = 0;
    for (int thread = 0; thread < space.threads; ++thread) {
      sum += space.sums[thread].first[c];
      product += space.sums[thread].second[c];
    }
    const double rstd = load(call.in[2], c), scale = static_cast<double>(space.coefficients.scale[c]);
    store(call.out[1], c, product * rstd);
    store(call.out[2], c, sum);
    space.slope[c] = static_cast<float>(-scale * rstd * rstd * product / rows);
    space.level[c] = static_cast<float>(-scale * sum / rows);
  }
  repeat_folds(m, space.slope);
  repeat_folds(m, space.level);
}

Status run(const KernelState& base, const Call& call) noexcept {
  const Activation activation = static_cast<const State&>(base).activation;
  const TensorView &x = call.in[0], &dy = call.in[5];
  Carver carver(call.workspace);
  const Space space = carve(carver, x.shape, call.threads);
  const Matrix& m = space.matrix;
  fill_coefficients(m, {call.in[1], call.in[2]}, call.in[3], call.in[4], space.coefficients);
  parallel(space.threads, [&](int thread, int count) {
    gradient_sums(m, x, dy, activation, elements_of(m, thread, count), space.coefficients, space.sums[thread]);
  });
  finish_sums(space, call);
  const std::int64_t step = round_up(kPieceElements, m.width());
  parallel(space.threads, [&](int thread, int count) {
    const Range own = elements_of(m, thread, count);
    for (std::int64_t end = own.end; end > own.begin;) {
      const std::int64_t begin = own.begin + (end - own.begin - 1) / step * step;
      gradient_range(m, call, activation, {begin, end}, space.coefficients, space.slope, space.level);
      end = begin;
    }
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "batch_norm_grad",
                           .name = "batch_norm_grad",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::batch_norm_grad_kernel
