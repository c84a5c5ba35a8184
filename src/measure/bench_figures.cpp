#include "measure/bench_figures.h"

#include <algorithm>
#include <map>

#include "base/median.h"

namespace thimble {
namespace {

constexpr double kFarFromRoof = 0.5;

// A row while it is summed up.
struct Group {
  BenchRow row;
  std::vector<double> sums;   // one an iteration
  std::vector<double> calls;  // every single one

  void add(const KernelWork& work, const TimedStep& step, const Roofs& roofs) {
    ++row.calls;
    row.flops += work.demand.flops;
    row.bytes += work.demand.bytes;
    row.roof_seconds += roof_seconds(roofs, work.demand);
    row.predicted_seconds += work.predicted_seconds;
    sums.resize(step.seconds.size());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += step.seconds[i];
    calls.insert(calls.end(), step.seconds.begin(), step.seconds.end());
  }

  BenchRow finish() && {
    row.seconds = median(std::move(sums));
    row.call_seconds = median(std::move(calls));
    return std::move(row);
  }
};

template <typename Groups>
std::vector<BenchRow> rows_of(Groups groups) {
  std::vector<BenchRow> rows;
  rows.reserve(groups.size());
  for (auto& [key, group] : groups) rows.push_back(std::move(group).finish());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const BenchRow& a, const BenchRow& b) { return a.seconds > b.seconds; });
  return rows;
}

}  // namespace

bool BenchRow::is_far_from_roof() const { return roof_seconds > 0 && share_of_roof() < kFarFromRoof; }

BenchFigures bench_figures(const BenchTimes& times, const Roofs& roofs) {
  std::map<std::string, Group> ops;
  std::map<std::size_t, Group> kernels;
  Group all;
  for (const TimedStep& step : times.steps) {
    const KernelWork& work = times.works[step.work];
    Group& op = ops[work.op];
    Group& kernel = kernels[step.work];
    op.row.op = work.op;
    kernel.row.op = work.op;
    kernel.row.kernel = work.kernel;
    kernel.row.use = work.use;
    kernel.row.shape = work.shape;
    for (Group* group : {&op, &kernel, &all}) group->add(work, step, roofs);
  }
  const BenchRow total = std::move(all).finish();
  BenchFigures figures;
  figures.roofs = roofs;
  figures.ops = rows_of(std::move(ops));
  figures.kernels = rows_of(std::move(kernels));
  figures.calls = total.calls;
  figures.iteration_seconds = median(times.iteration_seconds);
  if (const auto& all_seconds = times.iteration_seconds; !all_seconds.empty()) {
    figures.fastest_seconds = *std::min_element(all_seconds.begin(), all_seconds.end());
    figures.slowest_seconds = *std::max_element(all_seconds.begin(), all_seconds.end());
  }
  figures.step_seconds = total.seconds;
  figures.predicted_seconds = total.predicted_seconds;
  return figures;
}

}  // namespace thimble
