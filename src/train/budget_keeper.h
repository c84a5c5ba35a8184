// Moves a run between the plans of its ladder as budgets come in, and measures whether each was held. Knows nothing of
// where budgets come from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "train/session.h"
#include "train/train.h"

namespace thimble {

class BudgetKeeper {
 public:
  struct Hooks {
    BudgetControl::Tell tell;
    std::function<void(const BudgetSegment& left, const BudgetSegment& entered)> on_change;
  };

  // Without a control, or for a session without a ladder, the first segment is the only one.
  BudgetKeeper(Session& session, BudgetControl* control, const BudgetSegment& first, Hooks hooks);

  void at(Boundary boundary, std::int64_t iteration);

  bool is_over_budget() const;  // now, or in a segment before
  std::vector<BudgetSegment> finish();

 private:
  struct Wish {
    Bytes budget = 0;
    BudgetControl::Clock::time_point since;
    std::int64_t microbatches = 0;
  };

  BudgetFacts facts() const;
  std::string status() const;
  void refuse(const std::string& reason);
  // The rung for the wish, at this boundary; none, and the wish is gone if it cannot be met at a later one either.
  std::optional<std::size_t> choose(Boundary boundary);
  void move(std::size_t rung, std::int64_t iteration);
  void begin_segment(const BudgetSegment& segment);
  std::optional<Bytes> measured_peak() const;

  Session& session_;
  BudgetControl* control_;
  Hooks hooks_;
  std::vector<BudgetSegment> segments_;
  std::optional<Wish> wish_;
  Bytes peak_before_reset_ = 0;  // of the present segment, where the peak was reset within it
  bool is_peak_of_segment_ = true;
  bool was_exceeded_ = false;
  std::optional<Bytes> largest_budget_;  // since the peak was last reset; none: one of them was no bound
};

}  // namespace thimble
