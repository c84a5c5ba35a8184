// metrics.jsonl: one object an iteration, one an evaluation and one a change of budget. Lines are made in a fixed
// buffer: the loop allocates nothing for them.
#pragma once

#include <string>

#include "formats/json_lines.h"
#include "train/train.h"

namespace thimble {

inline constexpr std::string_view kMetricsFile = "metrics.jsonl";

class MetricsLog {
 public:
  // Lines after iteration `done`, of a run that went further before it was stopped, are cut off.
  MetricsLog(const std::string& folder, std::int64_t done);

  void add(const IterationFacts& facts, double seconds);
  void add(const EvaluationFacts& facts);
  void add(const BudgetSegment& left, const BudgetSegment& entered);
  void sync() { writer_.sync(); }  // before a checkpoint that counts on these lines

 private:
  JsonLinesWriter writer_;
};

}  // namespace thimble
