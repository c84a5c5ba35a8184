#include "train/metrics_log.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace thimble {
namespace {

// One JSON object of numbers in a buffer on the stack.
class Line {
 public:
  Line& integer(std::string_view key, std::int64_t value) {
    begin(key);
    used_ = static_cast<std::size_t>(std::to_chars(at(), end(), value).ptr - buffer_.data());
    return *this;
  }
  Line& integer_or_null(std::string_view key, std::optional<std::int64_t> value) {
    if (value) return integer(key, *value);
    begin(key);
    return put("null");
  }
  Line& number(std::string_view key, double value) {
    begin(key);
    if (!std::isfinite(value)) return put("null");  // JSON knows neither NaN nor infinity
    used_ = static_cast<std::size_t>(std::to_chars(at(), end(), value).ptr - buffer_.data());
    return *this;
  }
  std::string_view finish() {
    put("}");
    return {buffer_.data(), used_};
  }

 private:
  static constexpr std::size_t kBytes = 640, kLongestNumber = 32;

  char* at() { return buffer_.data() + used_; }
  char* end() { return buffer_.data() + buffer_.size(); }

  Line& put(std::string_view text) {
    ensure(used_ + text.size() + kLongestNumber <= buffer_.size(), "metrics: a line of more than ", kBytes, " bytes");
    used_ += text.copy(at(), text.size());
    return *this;
  }
  void begin(std::string_view key) { put(used_ == 0 ? "{\"" : ",\"").put(key).put("\":"); }

  std::array<char, kBytes> buffer_;
  std::size_t used_ = 0;
};

}  // namespace

MetricsLog::MetricsLog(const std::string& folder, std::int64_t done) : writer_(join_text(folder, "/", kMetricsFile)) {
  writer_.truncate_after(done);
}

void MetricsLog::add(const IterationFacts& facts, double seconds) {
  Line line;
  line.integer("iteration", facts.iteration).number("epoch", facts.epoch);
  line.number("loss", facts.loss).number("accuracy", facts.accuracy).number("lr", facts.learning_rate);
  if (facts.gradient_norm) line.number("gradient_norm", *facts.gradient_norm);
  line.number("samples_per_second", facts.samples_per_second).integer("resident_bytes", facts.resident_bytes);
  line.number("time_ms", seconds * 1000);
  writer_.append(line.finish());
}

void MetricsLog::add(const EvaluationFacts& facts) {
  Line line;
  line.integer("iteration", facts.iteration).number("test_loss", facts.loss).number("test_accuracy", facts.accuracy);
  writer_.append(line.finish());
}

void MetricsLog::add(const BudgetSegment& left, const BudgetSegment& entered) {
  Line line;
  line.integer("iteration", entered.iteration).integer_or_null("budget_before_bytes", left.budget);
  line.integer_or_null("peak_before_bytes", left.peak_bytes).integer_or_null("budget_bytes", entered.budget);
  line.integer("promised_bytes", entered.promised_bytes).integer("arena_bytes", entered.arena_bytes);
  line.integer("microbatch", entered.microbatch).integer("delay_microbatches", entered.delay_microbatches);
  line.number("delay_ms", entered.delay_seconds * 1000);
  writer_.append(line.finish());
}

}  // namespace thimble
