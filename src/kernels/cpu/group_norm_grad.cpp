// Gradient of group norm: sums of dy and dy * (x - mean) a sample and channel, then dx, sample by sample.
#include "kernels/cpu/group_norm.h"

namespace thimble::kernels::THIMBLE_ISA::group_norm_grad_kernel {
namespace {

std::string refuse(const KernelQuery& q) {
  if (q.in[5].dtype != q.in[0].dtype || q.out[0].dtype != q.in[0].dtype) return "serves x, dy and dx of one dtype only";
  return refuse_norm(q);
}

struct State : KernelState {
  std::int64_t groups = 1;
  Activation activation = Activation::none;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->groups = q.attributes->integer("groups");
  state->activation = activation_of(q);
  return state;
}

// One thread's scratch and its share of the parameter gradients.
struct ThreadSpace {
  ColumnSums sums;
  Coefficients coefficients;
  float *slope = nullptr, *level = nullptr;    // (width)
  double *dgamma = nullptr, *dbeta = nullptr;  // (channels)
};

struct Space {
  ThreadSpace* threads = nullptr;
  double *sum = nullptr, *product = nullptr;  // (kept, channels): sums of dy and dy * (x - mean)
};

Space carve(Carver& carver, const GroupPlan& plan) {
  const Matrix& m = plan.matrix;
  const std::int64_t kept = plan.kept() * m.channels;
  const Space space{carver.take<ThreadSpace>(plan.threads), carver.take<double>(kept), carver.take<double>(kept)};
  for (int thread = 0; thread < plan.threads; ++thread) {
    const ThreadSpace one{ColumnSums::carve(carver, m),    Coefficients::carve(carver, m),
                          carver.take<float>(m.width()),   carver.take<float>(m.width()),
                          carver.take<double>(m.channels), carver.take<double>(m.channels)};
    if (space.threads != nullptr) space.threads[thread] = one;
  }
  return space;
}

Bytes workspace(const KernelQuery& q) {
  Carver carver;
  carve(carver, group_plan(q.in[0].shape, q.attributes->integer("groups"), q.threads));
  return carver.used();
}

class Gradient {
 public:
  Gradient(const State& state, const GroupPlan& plan, const Space& space, const Call& call)
      : plan_(plan), m_(plan_.matrix), space_(space), call_(call), activation_(state.activation) {}

  void run() const {
    for (int thread = 0; thread < plan_.threads; ++thread) {
      clear(space_.threads[thread].dgamma, m_.channels);
      clear(space_.threads[thread].dbeta, m_.channels);
    }
    each_item(plan_, [this](std::int64_t item, int thread) {
      sum_item(item, thread);
      if (plan_.parts == 1) map_item(item, thread, plan_.place(item, thread));
    });
    if (plan_.parts != 1) {
      each_item(plan_, [this](std::int64_t item, int thread) {
        fill(item, thread);
        map_item(item, thread, item / plan_.parts * plan_.parts);
      });
    }
    store_parameters();
  }

 private:
  Statistics statistics(std::int64_t item) const {
    return {call_.in[1], call_.in[2], item / plan_.parts * plan_.groups, plan_.per_group()};
  }

  void fill(std::int64_t item, int thread) const {
    fill_coefficients(m_, statistics(item), call_.in[3], call_.in[4], space_.threads[thread].coefficients);
  }

  void sum_item(std::int64_t item, int thread) const {
    const ThreadSpace& own = space_.threads[thread];
    fill(item, thread);
    gradient_sums(m_, call_.in[0], call_.in[5], activation_, plan_.elements(item), own.coefficients, own.sums);
    const std::int64_t first = plan_.place(item, thread) * m_.channels;
    const Statistics from = statistics(item);
    for (std::int64_t c = 0, s = 0; c < m_.channels; c += from.run, ++s) {
      const auto rstd = static_cast<double>(from.rstd[s]);
      for (std::int64_t k = c; k < c + from.run; ++k) {
        space_.sum[first + k] = own.sums.first[k];
        space_.product[first + k] = own.sums.second[k];
        own.dbeta[k] += own.sums.first[k];
        own.dgamma[k] += own.sums.second[k] * rstd;
      }
    }
  }

  // With n elements in the group, slope = -rstd^3 * sum(gamma * dy * (x - mean)) / n, level = -rstd * sum(gamma * dy) /
  // n.
  void fill_slopes(std::int64_t item, const ThreadSpace& own, std::int64_t first_part) const {
    const Statistics from = statistics(item);
    const auto* gamma = call_.in[3].as<const float>();
    const auto n = static_cast<double>(from.run * m_.rows);
    for (std::int64_t c = 0, s = 0; c < m_.channels; c += from.run, ++s) {
      double sum = 0, product = 0;
      for (std::int64_t part = first_part; part < first_part + plan_.parts; ++part) {
        for (std::int64_t k = c; k < c + from.run; ++k) {
          sum += static_cast<double>(gamma[k]) * space_.sum[part * m_.channels + k];
          product += static_cast<double>(gamma[k]) * space_.product[part * m_.channels + k];
        }
      }
      const auto rstd = static_cast<double>(from.rstd[s]);
      for (std::int64_t k = c; k < c + from.run; ++k) {
        own.slope[k] = static_cast<float>(-rstd * rstd * rstd * product / n);
        own.level[k] = static_cast<float>(-rstd * sum / n);
      }
    }
    repeat_folds(m_, own.slope);
    repeat_folds(m_, own.level);
  }

  void map_item(std::int64_t item, int thread, std::int64_t first_part) const {
    const ThreadSpace& own = space_.threads[thread];
    fill_slopes(item, own, first_part);
    gradient_range(m_, call_, activation_, plan_.elements(item), own.coefficients, own.slope, own.level);
  }

  void store_parameters() const {
    for (std::int64_t c = 0; c < m_.channels; ++c) {
      double dgamma = 0, dbeta = 0;
      for (int thread = 0; thread < plan_.threads; ++thread) {
        dgamma += space_.threads[thread].dgamma[c];
        dbeta += space_.threads[thread].dbeta[c];
      }
      store(call_.out[1], c, dgamma);
      store(call_.out[2], c, dbeta);
    }
  }

  const GroupPlan& plan_;
  const Matrix& m_;
  const Space& space_;
  const Call& call_;
  Activation activation_;
};

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const State&>(base);
  const GroupPlan plan = group_plan(call.in[0].shape, state.groups, call.threads);
  Carver carver(call.workspace);
  const Space space = carve(carver, plan);
  Gradient(state, plan, space, call).run();
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "group_norm_grad",
                           .name = "group_norm_grad",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::group_norm_grad_kernel
