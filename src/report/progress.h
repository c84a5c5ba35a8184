// One line that tells how training goes: redrawn in place on a terminal, or written anew now and then into a file.
#pragma once

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

#include "train/trainer.h"

namespace thimble {

struct ProgressStyle {
  enum class Kind : std::uint8_t { bar, plain, none };
  Kind kind = Kind::plain;
  bool has_unicode = false;
  std::FILE* out = stdout;
};

class Progress {
 public:
  Progress(const ProgressStyle& style, std::optional<Bytes> budget) : style_(style), budget_(budget) {}

  void set_budget(std::optional<Bytes> budget) { budget_ = budget; }
  void show(const IterationFacts& facts);
  // A line of its own, above the bar.
  void say(const std::string& line);
  void finish();  // leaves the terminal on a fresh line

 private:
  using Clock = std::chrono::steady_clock;

  std::string memory_text(const IterationFacts& facts) const;
  std::string time_text(const IterationFacts& facts) const;
  std::string line_text(const IterationFacts& facts) const;
  std::string bar_text(const IterationFacts& facts, std::size_t columns) const;
  double remaining_seconds(const IterationFacts& facts) const;
  bool is_due(const IterationFacts& facts) const;
  void clear_bar();

  ProgressStyle style_;
  std::optional<Bytes> budget_;
  RecentMean loss_, accuracy_, sample_seconds_;  // over as many iterations as the closing report
  std::optional<Clock::time_point> started_;
  std::int64_t first_iteration_ = 0;
  Clock::time_point shown_;
  double shown_epoch_ = 0;
  bool has_bar_ = false;
};

}  // namespace thimble
