#include "analysis/cost_table.h"

#include <algorithm>

#include "base/median.h"
#include "base/random.h"

namespace thimble {
namespace {

std::uint64_t hash_of(std::string_view use) { return hash_text(use.data(), use.size()); }

}  // namespace

CostTable::CostTable(std::span<const MeasuredCost> costs, const CostModel& model) {
  std::vector<double> ratios;
  entries_.reserve(costs.size());
  for (const MeasuredCost& cost : costs) {
    entries_.push_back({hash_of(cost.use), cost.seconds});
    ratios.push_back(cost.seconds / predicted_seconds(cost.flops, cost.bytes, model));
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.use < b.use; });
  if (!ratios.empty()) ratio_ = median(std::move(ratios));
}

std::optional<double> CostTable::seconds_of(std::string_view use) const {
  const std::uint64_t hash = hash_of(use);
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), hash,
                                      [](const Entry& entry, std::uint64_t wanted) { return entry.use < wanted; });
  if (found == entries_.end() || found->use != hash) return std::nullopt;
  return found->seconds;
}

}  // namespace thimble
