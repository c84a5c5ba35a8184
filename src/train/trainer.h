// The loop: iterations, evaluations, rewirings, checkpoints and the ways a run can end.
#pragma once

#include <array>
#include <optional>

#include "train/budget_keeper.h"
#include "train/run_folder.h"
#include "train/session.h"

namespace thimble {

// Mean of the last values, at most as many as it holds.
class RecentMean {
 public:
  void add(double value) { values_[count_++ % values_.size()] = value; }
  double mean(double otherwise) const;

 private:
  std::array<double, 100> values_{};
  std::size_t count_ = 0;
};

struct StartState {
  TrainerState trainer;
  std::string checkpoint;  // that it was read from; empty for a run that begins
};

class Trainer {
 public:
  // `start` says where the run stands; the session holds the weights of that moment.
  Trainer(const TrainOptions& options, const Dataset& dataset, Session& session, StartState start,
          TrainObserver& observer, const std::atomic<bool>& stop, BudgetControl* control);

  void run(TrainResult& result);

 private:
  TrainEnd loop();
  bool iterate();  // false: the loss is no number any more
  void rewire_if_due();
  void evaluate();
  bool save();  // false: the state is not finite and was not saved
  bool is_due(std::int64_t every) const;
  void on_budget(const BudgetSegment& left, const BudgetSegment& entered);
  bool is_stopped() const { return stop_.load(std::memory_order_relaxed); }

  const TrainOptions& options_;
  const Dataset& dataset_;
  Session& session_;
  TrainerState state_;
  TrainObserver& observer_;
  const std::atomic<bool>& stop_;
  std::int64_t test_samples_;

  LoaderMemory loader_memory_;  // of both, which take turns
  Loader train_loader_;
  std::optional<RunFolder> folder_;
  BudgetKeeper keeper_;

  RecentMean recent_loss_;
  double seconds_ = 0;  // of training iterations
  std::int64_t samples_ = 0;
  std::string checkpoint_;             // the newest ...
  std::int64_t saved_iteration_ = -1;  // ... and its iteration
  std::optional<double> test_accuracy_;
};

}  // namespace thimble
