#include "train/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace thimble {
namespace {

// From `from` to `to` along half a cosine; share 0 to 1.
double cosine_between(double from, double to, double share) {
  return to + (from - to) / 2 * (1 + std::cos(std::numbers::pi * share));
}

double line_between(double from, double to, double share) { return from + (to - from) * share; }

double steps_at(const LearningRateSpec& spec, std::int64_t iteration) {
  double rate = spec.peak;
  for (const std::int64_t milestone : spec.milestones) {
    if (iteration >= milestone) rate *= spec.factor;
  }
  return rate;
}

double cosine_at(const LearningRateSpec& spec, std::int64_t iteration) {
  const auto length = static_cast<double>(std::max<std::int64_t>(spec.iterations - spec.warm_up, 1));
  const double share = static_cast<double>(iteration - spec.warm_up) / length;
  return cosine_between(spec.peak, 0, std::clamp(share, 0.0, 1.0));
}

// The peak lies at iteration rise * iterations - 1, which need not be whole, and the end at the last iteration.
double one_cycle_at(const LearningRateSpec& spec, std::int64_t iteration) {
  const double start = spec.peak / spec.start_divisor, end = start / spec.end_divisor;
  const double top = spec.rise * static_cast<double>(spec.iterations) - 1;
  const auto last = static_cast<double>(spec.iterations - 1);
  const double now = std::min(static_cast<double>(iteration), last);
  const auto between = spec.kind == LearningRateKind::one_cycle ? cosine_between : line_between;
  if (now <= top) return between(start, spec.peak, top > 0 ? now / top : 1);
  return between(spec.peak, end, last > top ? (now - top) / (last - top) : 1);
}

}  // namespace

std::string_view name_of(LearningRateKind kind) {
  switch (kind) {
    case LearningRateKind::constant: return "constant";
    case LearningRateKind::steps: return "steps";
    case LearningRateKind::cosine: return "cosine";
    case LearningRateKind::one_cycle: return "one-cycle";
    case LearningRateKind::one_cycle_linear: return "one-cycle-linear";
  }
  return {};
}

LearningRateKind learning_rate_kind_from_name(std::string_view name) {
  for (const LearningRateKind kind : {LearningRateKind::constant, LearningRateKind::steps, LearningRateKind::cosine,
                                      LearningRateKind::one_cycle, LearningRateKind::one_cycle_linear}) {
    if (name_of(kind) == name) return kind;
  }
  fail_user(
      join_text("learning rate: found '", name, "', wanted constant, steps, cosine, one-cycle or one-cycle-linear"));
}

double learning_rate_at(const LearningRateSpec& spec, std::int64_t iteration) {
  if (spec.kind == LearningRateKind::one_cycle || spec.kind == LearningRateKind::one_cycle_linear)
    return one_cycle_at(spec, iteration);
  if (iteration < spec.warm_up) {
    // The first iteration takes one part of the way already: a rate of zero would waste it.
    return spec.peak * static_cast<double>(iteration + 1) / static_cast<double>(spec.warm_up);
  }
  switch (spec.kind) {
    case LearningRateKind::steps: return steps_at(spec, iteration);
    case LearningRateKind::cosine: return cosine_at(spec, iteration);
    default: return spec.peak;
  }
}

}  // namespace thimble
