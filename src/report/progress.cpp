#include "report/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "report/table.h"

namespace thimble {
namespace {

constexpr auto kBarPause = std::chrono::milliseconds(100);
constexpr auto kLinePause = std::chrono::seconds(10);
constexpr std::size_t kNarrowest = 20, kShortestBar = 4, kLongestBar = 30;

std::size_t terminal_columns(std::FILE* out) {
  winsize size = {};
  const bool is_known = ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col >= kNarrowest;
  return is_known ? size.ws_col : 80;
}

// Eighths of a cell, so that a short bar still moves.
std::string draw_bar(double share, std::size_t cells, bool has_unicode) {
  const double filled = std::clamp(share, 0.0, 1.0) * static_cast<double>(cells);
  const auto whole = static_cast<std::size_t>(filled);
  std::string bar = has_unicode ? "" : "[";
  for (std::size_t i = 0; i < whole; ++i) bar += has_unicode ? "\u2588" : "#";
  std::size_t drawn = whole;
  if (has_unicode && whole < cells) {
    static const char* const kEighths[] = {" ", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589"};
    bar += kEighths[static_cast<std::size_t>((filled - static_cast<double>(whole)) * 8)];
    ++drawn;
  }
  bar += std::string(cells - drawn, has_unicode ? ' ' : '.');
  return bar + (has_unicode ? "\u2502" : "]");
}

}  // namespace

double Progress::remaining_seconds(const IterationFacts& facts) const {
  const std::int64_t done = facts.iteration - first_iteration_;
  const double elapsed = std::chrono::duration<double>(Clock::now() - *started_).count();
  return elapsed / static_cast<double>(done) * static_cast<double>(facts.iterations - facts.iteration);
}

std::string Progress::memory_text(const IterationFacts& facts) const {
  if (!budget_) return to_mib(facts.resident_bytes);
  return format("%.1f of %s", static_cast<double>(facts.resident_bytes) / static_cast<double>(kMiB),
                to_mib(*budget_).c_str());
}

std::string Progress::time_text(const IterationFacts& facts) const {
  const bool is_known = first_iteration_ < facts.iteration && facts.iteration < facts.iterations;
  return is_known ? "  ETA " + to_duration(remaining_seconds(facts)) : "";
}

std::string Progress::line_text(const IterationFacts& facts) const {
  return format("epoch %.2f  iteration %lld/%lld  loss %.4f  accuracy %.1f %%  lr %.3g  %.0f samples/s  ", facts.epoch,
                static_cast<long long>(facts.iteration), static_cast<long long>(facts.iterations),
                loss_.mean(facts.loss), 100 * accuracy_.mean(facts.accuracy), facts.learning_rate,
                1 / sample_seconds_.mean(1)) +
         memory_text(facts) + time_text(facts);
}

std::string Progress::bar_text(const IterationFacts& facts, std::size_t columns) const {
  // Shorter than a line, to leave room for the bar on eighty columns.
  const std::string text =
      format(" %lld/%lld loss %.4f acc %.1f %% lr %.3g %.0f/s ", static_cast<long long>(facts.iteration),
             static_cast<long long>(facts.iterations), loss_.mean(facts.loss), 100 * accuracy_.mean(facts.accuracy),
             facts.learning_rate, 1 / sample_seconds_.mean(1)) +
      memory_text(facts) + time_text(facts);
  const std::size_t room = columns > text.size() + 3 ? columns - text.size() - 3 : 0;
  if (room < kShortestBar) return text.substr(0, columns - 1);
  const double share =
      static_cast<double>(facts.iteration) / static_cast<double>(std::max<std::int64_t>(facts.iterations, 1));
  return draw_bar(share, std::min(room, kLongestBar), style_.has_unicode) + text;
}

bool Progress::is_due(const IterationFacts& facts) const {
  if (facts.iteration == facts.iterations) return true;
  const auto waited = Clock::now() - shown_;
  if (style_.kind == ProgressStyle::Kind::bar) return waited >= kBarPause;
  return waited >= kLinePause || std::floor(facts.epoch) > std::floor(shown_epoch_);
}

void Progress::show(const IterationFacts& facts) {
  if (!started_) {
    // The first iteration pays for warming up; rates are counted from its end.
    started_ = Clock::now();
    first_iteration_ = facts.iteration;
    shown_epoch_ = facts.epoch;
    shown_ = *started_ - kLinePause;
  }
  loss_.add(facts.loss);
  accuracy_.add(facts.accuracy);
  if (facts.samples_per_second > 0) sample_seconds_.add(1 / facts.samples_per_second);
  if (style_.kind == ProgressStyle::Kind::none || !is_due(facts)) return;
  shown_ = Clock::now();
  shown_epoch_ = facts.epoch;
  if (style_.kind == ProgressStyle::Kind::bar) {
    std::fprintf(style_.out, "\r\033[K%s", bar_text(facts, terminal_columns(style_.out)).c_str());
    has_bar_ = true;
  } else {
    std::fprintf(style_.out, "%s\n", line_text(facts).c_str());
  }
  std::fflush(style_.out);
}

void Progress::clear_bar() {
  if (has_bar_) std::fprintf(style_.out, "\r\033[K");
  has_bar_ = false;
}

void Progress::say(const std::string& line) {
  clear_bar();
  std::fprintf(style_.out, "%s\n", line.c_str());
  std::fflush(style_.out);
}

void Progress::finish() {
  if (has_bar_) std::fprintf(style_.out, "\n");
  has_bar_ = false;
  std::fflush(style_.out);
}

}  // namespace thimble
