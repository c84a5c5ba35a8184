#include "cli/commanded_budget.h"

#include "base/error.h"
#include "cli/request.h"

namespace thimble::cli {
namespace {

constexpr int kMostRefusals = 3;  // told at a boundary: whoever writes nonsense does not fill the log

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// As it may stand in a log or on a terminal.
std::string printable(std::string_view text) {
  constexpr std::size_t kShown = 40;
  std::string result(text.substr(0, kShown));
  for (char& byte : result) {
    if (byte < ' ' || byte > '~') byte = '?';
  }
  return text.size() > kShown ? result + "..." : result;
}

}  // namespace

CommandedBudget::CommandedBudget(const std::string& pipe_path, bool follows_limits) {
  if (!pipe_path.empty()) pipe_.emplace(pipe_path);
  if (follows_limits) watch_.emplace(Clock::now());
}

void CommandedBudget::listen(const BudgetFacts& facts, const Tell& tell) {
  if (pipe_) {
    int refused = 0;
    pipe_->read_lines([&](std::string_view line) {
      obey(line, [&](const std::string& note) {
        if (++refused <= kMostRefusals) tell(note);
      });
    });
    if (refused > kMostRefusals) tell(join_text("control: ", refused - kMostRefusals, " more lines are refused"));
  }
  if (!watch_) return;
  const LimitWatch::Sizes sizes{.smaller = facts.smaller, .larger = facts.larger};
  if (const std::optional<LimitWatch::News> news = watch_->look(Clock::now(), sizes)) {
    tell(join_text(news->reason, ": the budget is to be ", to_bytes_text(news->budget)));
    set_budget_since_boundary(news->budget);
  }
}

void CommandedBudget::obey(std::string_view line, const Tell& tell) {
  const std::string_view text = trimmed(line);
  if (text.empty()) return;
  if (text == "status") return ask_status();
  constexpr std::string_view kMemory = "memory";
  const bool is_memory = text.starts_with(kMemory) && text.size() > kMemory.size() &&
                         (text[kMemory.size()] == ' ' || text[kMemory.size()] == '\t');
  if (is_memory) return obey_memory(std::string(trimmed(text.substr(kMemory.size()))), tell);
  tell(join_text("control: found '", printable(text), "', wanted 'memory SIZE' or 'status'; nothing changes"));
}

// A border to text that anyone may write: what makes no sense is an outcome here, not an end.
void CommandedBudget::obey_memory(const std::string& size, const Tell& tell) {
  try {
    const Bytes budget = budget_from(size, memory_limit_bytes(), "memory");
    // Whoever names a budget does not want another one a moment later.
    watch_.reset();
    if (size == "auto") watch_.emplace(Clock::now());
    set_budget_since_boundary(budget);
  } catch (const UserError&) {
    tell(join_text("control: found 'memory ", printable(size),
                   "', wanted a size such as 64MiB, 80% or auto; nothing changes"));
  }
}

}  // namespace thimble::cli
