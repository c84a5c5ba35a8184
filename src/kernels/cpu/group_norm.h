// Group norm in pieces that group_norm, group_moments, group_norm_grad and normalize put together, so that all give the
// same bits. Work is cut into items: whole samples, or equal parts of each where there are too few samples to keep the
// threads busy.
#pragma once

#include "kernels/cpu/norm.h"

namespace thimble::kernels::THIMBLE_ISA {

struct GroupPlan {
  Matrix matrix;  // of one sample
  std::int64_t samples = 0, groups = 1;
  int parts = 1;  // items a sample
  int threads = 1;

  std::int64_t items() const { return samples * parts; }
  std::int64_t per_group() const { return matrix.channels / groups; }
  Range elements(std::int64_t item) const {
    const Range range = elements_of(matrix, static_cast<int>(item % parts), parts);
    const std::int64_t sample = item / parts * matrix.count();
    return {sample + range.begin, sample + range.end};
  }
  // One result of `channels` entries an item; with whole samples, a thread is done with one before the next and reuses
  // its memory.
  std::int64_t kept() const { return parts == 1 ? threads : items(); }
  std::int64_t place(std::int64_t item, int thread) const { return parts == 1 ? thread : item; }
};

static inline GroupPlan group_plan(const Shape& shape, std::int64_t groups, int threads) {
  constexpr std::int64_t kEnoughSamples = 4;  // a thread; then one sample more or less is not worth cutting for
  const std::int64_t samples = shape[0], channels = shape.at(-1);
  GroupPlan plan{matrix_of(shape.count() / samples / channels, channels, shape.count()), samples, groups, 1,
                 threads_for(shape.count(), threads)};
  if (samples % plan.threads != 0 && samples < kEnoughSamples * plan.threads) {
    plan.parts = plan.threads / static_cast<int>(std::gcd(samples, static_cast<std::int64_t>(plan.threads)));
  }
  return plan;
}

// Calls body(item, thread) for every item, contiguous items on a thread.
template <typename Body>
void each_item(const GroupPlan& plan, Body&& body) {
  parallel(plan.threads, [&](int thread, int count) {
    const Range range = part_of(plan.items(), thread, count);
    for (std::int64_t item = range.begin; item < range.end; ++item) body(item, thread);
  });
}

struct GroupMomentSpace {
  ColumnSums* sums = nullptr;  // (threads)
  Moments* moments = nullptr;  // (kept, channels)

  static GroupMomentSpace carve(Carver& carver, const GroupPlan& plan) {
    GroupMomentSpace space{carver.take<ColumnSums>(plan.threads),
                           carver.take<Moments>(plan.kept() * plan.matrix.channels)};
    for (int thread = 0; thread < plan.threads; ++thread) {
      const ColumnSums sums = ColumnSums::carve(carver, plan.matrix);
      if (space.sums != nullptr) space.sums[thread] = sums;
    }
    return space;
  }
};

static inline Coefficients* carve_coefficients(Carver& carver, const GroupPlan& plan) {
  Coefficients* all = carver.take<Coefficients>(plan.threads);
  for (int thread = 0; thread < plan.threads; ++thread) {
    const Coefficients one = Coefficients::carve(carver, plan.matrix);
    if (all != nullptr) all[thread] = one;
  }
  return all;
}

// mean and rstd of one sample from the moments of its parts.
static inline void finish_moments(const GroupPlan& plan, std::int64_t sample, const Moments* moments, double eps,
                                  const TensorView& mean, const TensorView& rstd) {
  const std::int64_t run = plan.per_group();
  for (std::int64_t g = 0; g < plan.groups; ++g) {
    const Moments all = combine_moments(moments + g * run, plan.parts, run, plan.matrix.channels);
    store(mean, sample * plan.groups + g, all.mean);
    store(rstd, sample * plan.groups + g, rstd_of(all, eps));
  }
}

// Statistics of every sample; then use(item, thread) for every item whose sample's statistics are known. Whole samples
// are used at once, while they are still in the cache.
template <typename Use>
void group_moments(const GroupPlan& plan, const TensorView& x, double eps, const GroupMomentSpace& space,
                   const TensorView& mean, const TensorView& rstd, Use&& use) {
  const std::int64_t channels = plan.matrix.channels;
  each_item(plan, [&](std::int64_t item, int thread) {
    Moments* moments = space.moments + plan.place(item, thread) * channels;
    moments_of_range(plan.matrix, x, plan.elements(item), space.sums[thread], moments);
    if (plan.parts != 1) return;
    finish_moments(plan, item, moments, eps, mean, rstd);
    use(item, thread);
  });
  if (plan.parts == 1) return;
  for (std::int64_t sample = 0; sample < plan.samples; ++sample) {
    finish_moments(plan, sample, space.moments + sample * plan.parts * channels, eps, mean, rstd);
  }
  each_item(plan, use);
}

// y of one item, from the statistics of its sample.
static inline void normalize_item(const GroupPlan& plan, std::int64_t item, const Normalized& what,
                                  const TensorView& mean, const TensorView& rstd, const TensorView& gamma,
                                  const TensorView& beta, const Coefficients& scratch) {
  const Statistics statistics(mean, rstd, item / plan.parts * plan.groups, plan.per_group());
  fill_coefficients(plan.matrix, statistics, gamma, beta, scratch);
  normalize_range(plan.matrix, what, plan.elements(item), scratch);
}

}  // namespace thimble::kernels::THIMBLE_ISA
