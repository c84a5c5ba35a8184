// New budgets for a run that is under way. Give one to train() and call set_budget() from wherever the news is.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace thimble {

// Where a run stands, as far as budgets go.
struct BudgetFacts {
  std::optional<Bytes> budget = {};
  Bytes promised = 0;  // arena and reserve of the present plan ...
  Bytes smaller = 0;   // ... of the next smaller one, and of the next larger; zero: there is none
  Bytes larger = 0;
};

class BudgetControl {
 public:
  using Clock = std::chrono::steady_clock;
  using Tell = std::function<void(const std::string&)>;

  BudgetControl() = default;
  BudgetControl(const BudgetControl&) = delete;
  BudgetControl& operator=(const BudgetControl&) = delete;
  virtual ~BudgetControl() = default;

  // From any thread, at any moment; never waits for the run. The old budget holds until the next boundary between
  // microbatches. What cannot be met is refused with a note, and the run goes on as it was. The last one counts.
  void set_budget(Bytes budget);
  void ask_status();  // answered with a note

  struct News {
    std::optional<Bytes> budget = {};
    bool asks_status = false;
    Clock::time_point since;        // the budget was asked for, at the earliest
    std::int64_t microbatches = 0;  // begun before it was asked for and ended since
  };
  // By the run, at every boundary.
  News poll(const BudgetFacts& facts, const Tell& tell);

 protected:
  // For those who must look for themselves, a pipe or a limit: called by the run at every boundary. Must neither wait
  // nor throw.
  virtual void listen(const BudgetFacts& facts, const Tell& tell);
  // Asked for at some moment since the boundary before.
  void set_budget_since_boundary(Bytes budget);

 private:
  void set(Bytes budget, Clock::time_point since);

  std::mutex mutex_;
  std::optional<Bytes> budget_;
  bool asks_status_ = false;
  Clock::time_point since_, boundary_ = Clock::now();
  std::int64_t boundaries_ = 0, since_boundary_ = 0;
};

}  // namespace thimble
