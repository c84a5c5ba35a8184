#include "train/budget_control.h"

namespace thimble {

void BudgetControl::set(Bytes budget, Clock::time_point since) {
  budget_ = budget;
  since_ = since;
  since_boundary_ = boundaries_;
}

void BudgetControl::set_budget(Bytes budget) {
  const std::lock_guard lock(mutex_);
  set(budget, Clock::now());
}

void BudgetControl::set_budget_since_boundary(Bytes budget) {
  const std::lock_guard lock(mutex_);
  set(budget, boundary_);
}

void BudgetControl::ask_status() {
  const std::lock_guard lock(mutex_);
  asks_status_ = true;
}

void BudgetControl::listen(const BudgetFacts&, const Tell&) {}

BudgetControl::News BudgetControl::poll(const BudgetFacts& facts, const Tell& tell) {
  listen(facts, tell);
  const std::lock_guard lock(mutex_);
  ++boundaries_;
  boundary_ = Clock::now();
  const News news{budget_, asks_status_, since_, boundaries_ - since_boundary_};
  budget_.reset();
  asks_status_ = false;
  return news;
}

}  // namespace thimble
