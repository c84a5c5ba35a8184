// The budgets that the outside asks for: lines of a control pipe, and limits of the system that move.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/control_pipe.h"
#include "run/limit_watch.h"
#include "train/budget_control.h"

namespace thimble::cli {

class CommandedBudget final : public BudgetControl {
 public:
  // An empty path: no pipe.
  CommandedBudget(const std::string& pipe_path, bool follows_limits);

 private:
  void listen(const BudgetFacts& facts, const Tell& tell) override;
  void obey(std::string_view line, const Tell& tell);
  void obey_memory(const std::string& size, const Tell& tell);

  std::optional<ControlPipe> pipe_;
  std::optional<LimitWatch> watch_;  // while limits are followed
};

}  // namespace thimble::cli
