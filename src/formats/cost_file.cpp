#include "formats/cost_file.h"

#include <cmath>
#include <tuple>

#include "formats/listing_events.h"

namespace thimble {
namespace {

constexpr std::string_view kFormat = "thimble costs";
constexpr std::int64_t kVersion = 1;
constexpr Bytes kMostBytes = 16 * kMiB;
constexpr std::int64_t kMostThreads = 4096;
constexpr double kMostSeconds = 1e5;  // of a call: anything above was not measured by us
constexpr double kMostWork = 1e18;    // flops or bytes of a call

constexpr std::string_view kTopKeys[] = {"format", "version", "cpu", "isa", "program", "costs"};
constexpr std::string_view kEntryKeys[] = {"threads", "use", "seconds", "flops", "bytes"};

class CostEvents final : public ListingEvents {
 public:
  explicit CostEvents(std::string_view source) : ListingEvents(source, kTopKeys, kEntryKeys) {}

  void on_text(std::string_view text) override;
  void on_integer(std::int64_t value) override;
  void on_number(double value) override;

  CostFile finish() {
    require(is_whole(), source(), ": must state format, version, cpu, isa, program and costs");
    return std::move(file_);
  }

 private:
  void begin_entry() override { entry_ = {}; }
  void finish_entry() override;

  CostEntry entry_;
  CostFile file_;
};

void CostEvents::on_text(std::string_view text) {
  if (is_top("format")) {
    require(text == kFormat, source(), ": format is ", json_quoted(text.substr(0, kShown)), ", wanted ", kFormat);
  } else if (is_top("cpu")) {
    file_.origin.cpu = text;
  } else if (is_top("isa")) {
    file_.origin.isa = text;
  } else if (is_top("program")) {
    file_.origin.program = text;
  } else if (is_entry("use")) {
    entry_.use = text;
  } else {
    refuse("a text");
  }
}

void CostEvents::on_integer(std::int64_t value) {
  if (is_top("version")) {
    require(value == kVersion, source(), ": is of version ", value, ", this build reads version ", kVersion);
  } else if (is_entry("threads")) {
    require(value >= 1 && value <= kMostThreads, source(), ": threads is ", value, ", wanted 1 to ", kMostThreads);
    entry_.threads = value;
  } else {
    on_number(static_cast<double>(value));
  }
}

void CostEvents::on_number(double value) {
  if (!is_entry() || key() == "threads" || key() == "use") refuse("a number");
  const bool is_time = key() == "seconds";
  const double most = is_time ? kMostSeconds : kMostWork;
  require(std::isfinite(value) && value <= most && (value > 0 || (value == 0 && !is_time)), source(), ": ", key(),
          " is ", value, ", wanted ", is_time ? "more than 0" : "0 or more", " and at most ", most);
  (is_time ? entry_.seconds : key() == "flops" ? entry_.flops : entry_.bytes) = value;
}

void CostEvents::finish_entry() {
  require(is_whole_entry(), source(), ": a cost must state threads, use, seconds, flops and bytes");
  require(file_.entries.size() < kMostCosts, source(), ": lists more than ", kMostCosts, " costs");
  const auto order = [](const CostEntry& entry) { return std::tie(entry.threads, entry.use); };
  require(file_.entries.empty() || order(file_.entries.back()) < order(entry_), source(), ": lists ",
          json_quoted(entry_.use.substr(0, kShown)), " out of order or twice");
  file_.entries.push_back(std::move(entry_));
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
