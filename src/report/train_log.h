// What a training run tells the user while it goes and when it ends.
#pragma once

#include <optional>

#include "report/json_writer.h"
#include "report/plan_figures.h"
#include "report/progress.h"

namespace thimble {

class TrainLog : public TrainObserver {
 public:
  TrainLog(const TrainOptions& options, const DatasetInfo& data, const ProgressStyle& style);

  void on_compiled(const Compiled& compiled) override;
  void on_note(const std::string& note) override;
  void on_iteration(const IterationFacts& facts) override { progress_.show(facts); }
  void on_evaluation(const EvaluationFacts& facts) override;
  void on_checkpoint(const std::string& path) override;
  void on_budget(const BudgetSegment& left, const BudgetSegment& entered) override;

  // None before the run was compiled.
  const std::optional<PlanFigures>& figures() const { return figures_; }

  // What a conventional framework would hold, what was planned, what was measured.
  void print_closing(const TrainResult& result);

 private:
  std::FILE* out_;
  bool is_quiet_;        // a line only for what must be read
  const char* counted_;  // behind an accuracy
  Progress progress_;
  std::optional<PlanFigures> figures_;
};

// One object: the fields of the plan and of what was measured.
void write_train_json(JsonWriter& json, const PlanFigures& figures, const TrainResult& result);

}  // namespace thimble
