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
  bool rectifies = false;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->groups = q.attributes->integer("groups");
  state->rectifies = q.attributes->word("activation") == "relu";
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
      : plan_(plan), m_(plan_.matrix), space_(space), call_(call), rectifies_(state.rectifies) {}

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
  void fill(std::int64_t item, int thread) const {
    const Statistics statistics{call_.in[1], call_.in[2], item / plan_.parts * plan_.groups, plan_.per_group()};
    fill_coefficients(m_, statistics, call_.in[3], call_.in[4], space_.threads[thread].coefficients);
  }

  double rstd(std::int64_t item, std::int64_t channel) const {
    return load(call_.in[2], item / plan_.parts * plan_.groups + channel / plan_.per_group());
  }

  void sum_item(std::int64_t item, int thread) const {
    const ThreadSpace& own = space_.threads[thread];
    fill(item, thread);
    gradient_sums(m_, call_.in[0], call_.in[5], rectifies_, plan_.elements(item), own.coefficients, own.sums);
    const std::int64_t first = plan_.place(item, thread) * m_.channels;
    for (std::int64_t c = 0; c < m_.channels; ++c) {
      space_.sum[first + c] = own.sums.first[c];
      space_.product[first + c] = own.sums.second[c];
      own.dbeta[c] += own.sums.first[c];
      own.dgamma[c] += own.sums.second[c] * rstd(item, c);
    }
  }

  // With n elements in the group: dx = scale * dy - rstd * (sum(gamma dy) + (x - mean) * rstd^2 * sum(gamma dy (x -
  // mean))) / n
  void map_item(std::int64_t item, int thread, std::int64_t first_part) const {
    const ThreadSpace& own = space_.threads[thread];
    const std::int64_t run = plan_.per_group();
    const auto n = static_cast<double>(run * m_.rows);
    for (std::int64_t g = 0; g < plan_.groups; ++g) {
      double sum = 0, product = 0;
      for (std::int64_t part = 0; part < plan_.parts; ++part) {
        for (std::int64_t c = g * run; c < (g + 1) * run; ++c) {
          const double gamma = load(call_.in[3], c);
          sum += gamma * space_.sum[(first_part + part) * m_.channels + c];
          product += gamma * space_.product[(first_part + part) * m_.channels + c];
        }
      }
      const double r = rstd(item, g * run);
      for (std::int64_t f = 0; f < m_.fold; ++f) {
        for (std::int64_t c = f * m_.channels + g * run; c < f * m_.channels + (g + 1) * run; ++c) {
          own.slope[c] = static_cast<float>(-r * r * r * product / n);
          own.level[c] = static_cast<float>(-r * sum / n);
        }
      }
    }
    gradient_range(m_, call_.in[0], call_.in[5], call_.out[0], rectifies_, plan_.elements(item), own.coefficients,
                   own.slope, own.level);
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
  bool rectifies_;
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
