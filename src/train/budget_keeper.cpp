#include "train/budget_keeper.h"

#include <malloc.h>

#include <algorithm>

#include "base/error.h"
#include "run/meter.h"

namespace thimble {
namespace {

constexpr std::size_t kMostSegments = 1000;  // that are remembered: a flood of changes must not fill the heap

std::string budget_text(const std::optional<Bytes>& budget) { return budget ? to_bytes_text(*budget) : "none"; }

}  // namespace

BudgetKeeper::BudgetKeeper(Session& session, BudgetControl* control, const BudgetSegment& first, Hooks hooks)
    : session_(session),
      control_(session.ladder().is_empty() ? nullptr : control),
      hooks_(std::move(hooks)),
      segments_{first},
      largest_budget_(first.budget) {}

BudgetFacts BudgetKeeper::facts() const {
  const std::vector<Rung>& rungs = session_.ladder().rungs;
  const std::size_t rung = session_.rung();
  return {.budget = segments_.back().budget,
          .promised = session_.promised_bytes(),
          .smaller = rung + 1 < rungs.size() ? rungs[rung + 1].point.process_bytes : 0,
          .larger = rung > 0 ? rungs[rung - 1].point.process_bytes : 0};
}

std::string BudgetKeeper::status() const {
  const BudgetSegment& now = segments_.back();
  const std::vector<Rung>& rungs = session_.ladder().rungs;
  const std::optional<Bytes> peak = measured_peak();
  return join_text("budget ", budget_text(now.budget), ", promised ", to_bytes_text(now.promised_bytes), ", arena ",
                   to_bytes_text(now.arena_bytes), ", resident now ", to_bytes_text(resident_bytes()),
                   ", at most since iteration ", now.iteration, ": ", peak ? to_bytes_text(*peak) : "not measured",
                   ", microbatch ", now.microbatch, "; ", rungs.size(), " plans, for budgets from ",
                   to_bytes_text(rungs.back().point.process_bytes), " to ",
                   to_bytes_text(rungs.front().point.process_bytes));
}

void BudgetKeeper::refuse(const std::string& reason) {
  hooks_.tell(join_text("a budget of ", to_bytes_text(wish_->budget), " is refused: ", reason, ". It stays ",
                        budget_text(segments_.back().budget)));
  wish_.reset();
}

std::optional<std::size_t> BudgetKeeper::choose(Boundary boundary) {
  const Ladder& ladder = session_.ladder();
  const std::optional<std::size_t> best = ladder.find(wish_->budget);
  if (!best) {
    refuse(join_text("the smallest that works is ", to_bytes_text(ladder.rungs.back().point.process_bytes)));
    return std::nullopt;
  }
  if (boundary == Boundary::iteration) return best;
  // Sums over microbatches are alive: only a plan of the same microbatch has them at the same place.
  return ladder.find(wish_->budget, ladder.rungs[session_.rung()].layout);
}

void BudgetKeeper::at(Boundary boundary, std::int64_t iteration) {
  if (control_ == nullptr) return;
  const BudgetControl::News news = control_->poll(facts(), hooks_.tell);
  if (news.asks_status) hooks_.tell(status());
  if (wish_) ++wish_->microbatches;
  if (news.budget) wish_ = {*news.budget, news.since, news.microbatches};
  if (!wish_) return;
  const std::optional<std::size_t> rung = choose(boundary);
  if (!rung) return;
  const bool is_best = session_.ladder().find(wish_->budget) == rung;
  if (*rung != session_.rung() || segments_.back().budget != wish_->budget) move(*rung, iteration);
  // Within an iteration the microbatch stays; the fastest plan of any microbatch may have to wait for its end.
  if (is_best) wish_.reset();
}

void BudgetKeeper::move(std::size_t rung, std::int64_t iteration) {
  BudgetSegment& left = segments_.back();
  left.peak_bytes = measured_peak();
  const Rung& next = session_.ladder().rungs[rung];
  const bool grows = next.plans.arena_bytes > session_.arena_bytes();
  const Bytes peak = peak_resident_bytes();
  // A larger plan is entered under the new budget, a smaller one while the old one still holds.
  bool is_reset = grows && reset_peak_resident();
  if (!session_.enter(rung)) {
    if (is_reset) peak_before_reset_ = std::max(peak_before_reset_, peak);
    refuse("the system does not give the memory");
    return;
  }
  malloc_trim(0);
  if (!grows) is_reset = reset_peak_resident();
  is_peak_of_segment_ = is_reset;
  const std::chrono::duration<double> delay = BudgetControl::Clock::now() - wish_->since;
  begin_segment({.iteration = iteration,
                 .budget = wish_->budget,
                 .microbatch = next.point.microbatch,
                 .arena_bytes = next.plans.arena_bytes,
                 .promised_bytes = next.point.process_bytes,
                 .delay_microbatches = wish_->microbatches,
                 .delay_seconds = delay.count(),
                 .peak_bytes = std::nullopt});
}

void BudgetKeeper::begin_segment(const BudgetSegment& segment) {
  const BudgetSegment left = segments_.back();
  was_exceeded_ = was_exceeded_ || left.is_exceeded();
  peak_before_reset_ = 0;
  const bool is_bound = largest_budget_.has_value() && segment.budget.has_value();
  if (is_peak_of_segment_) {
    largest_budget_ = segment.budget;
  } else {
    largest_budget_ = is_bound ? std::optional(std::max(*largest_budget_, *segment.budget)) : std::nullopt;
  }
  if (segments_.size() == kMostSegments) segments_.erase(segments_.begin());
  segments_.push_back(segment);
  hooks_.on_change(left, segment);
}

std::optional<Bytes> BudgetKeeper::measured_peak() const {
  if (!is_peak_of_segment_) return std::nullopt;
  return std::max(peak_before_reset_, peak_resident_bytes());
}

bool BudgetKeeper::is_over_budget() const {
  return was_exceeded_ || (largest_budget_ && std::max(peak_before_reset_, peak_resident_bytes()) > *largest_budget_);
}

std::vector<BudgetSegment> BudgetKeeper::finish() {
  segments_.back().peak_bytes = measured_peak();
  return segments_;
}

}  // namespace thimble
