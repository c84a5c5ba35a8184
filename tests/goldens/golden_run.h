// A recipe's network compiled and bound, from the recipe's weights.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "goldens/golden.h"
#include "run/program.h"

namespace thimble::testing {

struct GoldenRunOptions {
  OptimizerSpec optimizer = {};
  std::optional<std::int64_t> microbatch = std::nullopt;
  bool keep_all = false;  // every value keeps a place of its own, so that logits can be read after the run
  bool evaluates = false;
  bool smallest = false;  // the plan of the fewest bytes instead of the fastest one
};

class GoldenRun {
 public:
  GoldenRun(const Recipe& recipe, const GoldenRunOptions& options);

  void shift(const std::vector<Shift>& shifts);
  double train_step(std::int64_t batch_index, std::int64_t iteration, float learning_rate);  // returns the loss
  double evaluate(std::int64_t batch_index);

  std::vector<double> logits() const;  // of the last step or evaluation; needs keep_all
  TensorView tensor(const std::string& name) const { return program_->persistent(name); }
  const std::vector<TensorSpec>& tensors() const { return compiled_.tensors; }
  void copy_tensors_from(const GoldenRun& other);

 private:
  double run(const std::vector<PhaseTurn>& turns, std::int64_t batch_index, RunScalars scalars);
  void collect_logits(std::size_t phase);

  const Recipe& recipe_;
  bool keep_all_;
  Compiled compiled_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<Program> program_;
  std::vector<double> logits_;
};

}  // namespace thimble::testing
