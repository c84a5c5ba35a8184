#include "formats/cost_file.h"

#include <array>
#include <cmath>
#include <span>
#include <tuple>

#include "base/error.h"
#include "formats/json_reader.h"
#include "formats/json_text.h"

namespace thimble {
namespace {

constexpr std::string_view kFormat = "thimble costs";
constexpr std::int64_t kVersion = 1;
constexpr Bytes kMostBytes = 16 * kMiB;
constexpr std::size_t kShown = 64;  // characters of a text in a message
constexpr std::int64_t kMostThreads = 4096;
constexpr double kMostSeconds = 1e5;  // of a call: anything above was not measured by us
constexpr double kMostWork = 1e18;    // flops or bytes of a call

class CostEvents final : public JsonEvents {
 public:
  explicit CostEvents(std::string_view source) : source_(source) {}

  void on_begin_object() override {
    require(++depth_ == 1 || (depth_ == 2 && is_in_list_), source_, ": an object stands where none is wanted");
    if (depth_ == 2) entry_ = {};
  }
  void on_end_object() override {
    if (--depth_ == 1) finish_entry();
  }
  void on_begin_array() override {
    require(depth_ == 1 && key_ == "costs" && !is_in_list_, source_, ": a list stands where none is wanted");
    is_in_list_ = true;
  }
  void on_end_array() override { is_in_list_ = false; }
  void on_key(std::string_view key) override;
  void on_text(std::string_view text) override;
  void on_integer(std::int64_t value) override;
  void on_number(double value) override;

  CostFile finish() {
    require(top_keys_ == kTopKeys.size(), source_, ": must state format, version, cpu, isa, program and costs");
    return std::move(file_);
  }

 private:
  // The keys of each level in the order in which they are written: the file has one form only.
  static constexpr std::array<std::string_view, 6> kTopKeys = {"format", "version", "cpu", "isa", "program", "costs"};
  static constexpr std::array<std::string_view, 5> kEntryKeys = {"threads", "use", "seconds", "flops", "bytes"};

  void finish_entry();
  [[noreturn]] void refuse(std::string_view found) const override {
    fail_user(join_text(source_, ": \"", key_, "\" is ", found, ", which is not wanted there"));
  }

  std::string_view source_;
  int depth_ = 0;
  bool is_in_list_ = false;
  std::size_t top_keys_ = 0;
  std::size_t entry_keys_ = 0;
  std::string_view key_;  // points into the tables above
  CostEntry entry_;
  CostFile file_;
};

void CostEvents::on_key(std::string_view key) {
  const std::span<const std::string_view> wanted =
      depth_ == 1 ? std::span<const std::string_view>(kTopKeys) : std::span<const std::string_view>(kEntryKeys);
  std::size_t& count = depth_ == 1 ? top_keys_ : entry_keys_;
  require(count < wanted.size() && wanted[count] == key, source_, ": found key ", json_quoted(key.substr(0, kShown)),
          ", wanted ", count < wanted.size() ? wanted[count] : "the end of the object");
  key_ = wanted[count++];
}

void CostEvents::on_text(std::string_view text) {
  if (depth_ == 1 && key_ == "format") {
    require(text == kFormat, source_, ": format is ", json_quoted(text.substr(0, kShown)), ", wanted ", kFormat);
  } else if (depth_ == 1 && key_ == "cpu") {
    file_.origin.cpu = text;
  } else if (depth_ == 1 && key_ == "isa") {
    file_.origin.isa = text;
  } else if (depth_ == 1 && key_ == "program") {
    file_.origin.program = text;
  } else if (depth_ == 2 && key_ == "use") {
    entry_.use = text;
  } else {
    refuse("a text");
  }
}

void CostEvents::on_integer(std::int64_t value) {
  if (depth_ == 1 && key_ == "version") {
    require(value == kVersion, source_, ": is of version ", value, ", this build reads version ", kVersion);
  } else if (depth_ == 2 && key_ == "threads") {
    require(value >= 1 && value <= kMostThreads, source_, ": threads is ", value, ", wanted 1 to ", kMostThreads);
    entry_.threads = value;
  } else {
    on_number(static_cast<double>(value));
  }
}

void CostEvents::on_number(double value) {
  if (depth_ != 2 || key_ == "threads" || key_ == "use") refuse("a number");
  const bool is_time = key_ == "seconds";
  const double most = is_time ? kMostSeconds : kMostWork;
  require(std::isfinite(value) && value <= most && (value > 0 || (value == 0 && !is_time)), source_, ": ", key_, " is ",
          value, ", wanted ", is_time ? "more than 0" : "0 or more", " and at most ", most);
  (is_time ? entry_.seconds : key_ == "flops" ? entry_.flops : entry_.bytes) = value;
}

void CostEvents::finish_entry() {
  require(entry_keys_ == kEntryKeys.size(), source_, ": a cost must state threads, use, seconds, flops and bytes");
  require(file_.entries.size() < kMostCosts, source_, ": lists more than ", kMostCosts, " costs");
  const auto order = [](const CostEntry& entry) { return std::tie(entry.threads, entry.use); };
  require(file_.entries.empty() || order(file_.entries.back()) < order(entry_), source_, ": lists ",
          json_quoted(entry_.use.substr(0, kShown)), " out of order or twice");
  file_.entries.push_back(std::move(entry_));
  entry_keys_ = 0;
}

}  // namespace

std::string to_text(const CostFile& file) {
  ensure(file.entries.size() <= kMostCosts, "costs: ", file.entries.size(), " entries, at most ", kMostCosts);
  std::string costs = "[";
  for (const CostEntry& entry : file.entries) {
    JsonObject object;
    object.integer("threads", entry.threads).text("use", entry.use).number("seconds", entry.seconds);
    object.number("flops", entry.flops).number("bytes", entry.bytes);
    costs += (costs.size() > 1 ? ",\n" : "\n") + object.to_string();
  }
  JsonObject object;
  object.text("format", kFormat).integer("version", kVersion).text("cpu", file.origin.cpu);
  object.text("isa", file.origin.isa).text("program", file.origin.program).raw("costs", costs + "\n]");
  return object.to_string() + "\n";
}

CostFile parse_costs(const ByteSource& source) {
  require(source.size <= kMostBytes, source.name, ": takes ", source.size, " bytes, wanted at most ", kMostBytes);
  CostEvents events(source.name);
  read_json(source, 0, source.size, {.depth = 3}, events);
  return events.finish();
}

}  // namespace thimble
