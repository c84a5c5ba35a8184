#include "report/front_compare.h"

#include <algorithm>
#include <cmath>

#include "formats/json_reader.h"
#include "report/table.h"

namespace thimble {
namespace {

constexpr Bytes kMostBytes = 64 * kMiB;  // of a file
constexpr std::size_t kMostPoints = 100'000;
constexpr int kLevels = 9;

// Takes bytes and seconds of every object of the outermost "points" and passes everything else over.
class CurveEvents final : public JsonEvents {
 public:
  CurveEvents(std::string name, FrontCurve& curve) : name_(std::move(name)), curve_(curve) {}

  void on_begin_object() override {
    ++depth_;
    if (depth_ == kPointDepth && is_in_points_) point_ = {};
  }
  void on_end_object() override {
    if (depth_ == kPointDepth && is_in_points_) add();
    --depth_;
  }
  void on_key(std::string_view key) override {
    key_ = key;
    if (depth_ == 1) is_in_points_ = key == "points";
  }
  void on_begin_array() override { ++depth_; }
  void on_end_array() override { --depth_; }
  void on_text(std::string_view) override { refuse_if_wanted("a text"); }
  void on_boolean(bool) override { refuse_if_wanted("true or false"); }
  void on_null() override { refuse_if_wanted("null"); }
  void on_integer(std::int64_t value) override {
    if (is_wanted("process_bytes")) point_.bytes = value;
    if (is_wanted("seconds")) point_.seconds = static_cast<double>(value);
  }
  void on_number(double value) override {
    if (is_wanted("process_bytes")) refuse("a number with a fraction");
    if (is_wanted("seconds")) point_.seconds = value;
  }

 private:
  static constexpr int kPointDepth = 3;  // the object, its list, a point

  bool is_wanted(std::string_view key) const { return depth_ == kPointDepth && is_in_points_ && key_ == key; }

  void refuse_if_wanted(std::string_view found) const {
    if (is_wanted("process_bytes") || is_wanted("seconds")) refuse(found);
    require(depth_ > 1 || !is_in_points_, name_, ": 'points' is ", found, ", wanted a list");
  }

  [[noreturn]] void refuse(std::string_view found) const override {
    fail_user(join_text(name_, ": point ", curve_.points.size(), ": '", key_, "' is ", found,
                        ", wanted what 'thimble explore --json' writes"));
  }

  void add() {
    require(curve_.points.size() < kMostPoints, name_, ": has more than ", kMostPoints, " points");
    require(point_.bytes > 0, name_, ": point ", curve_.points.size(), ": found ", point_.bytes,
            " process_bytes, wanted more than 0");
    require(point_.seconds > 0 && std::isfinite(point_.seconds), name_, ": point ", curve_.points.size(), ": found ",
            point_.seconds, " seconds, wanted more than 0");
    curve_.points.push_back(point_);
  }

  std::string name_;
  FrontCurve& curve_;
  FrontCurve::Point point_;
  std::string key_;
  int depth_ = 0;
  bool is_in_points_ = false;
};

void keep_front(std::vector<FrontCurve::Point>& points) {
  std::sort(points.begin(), points.end(), [](const FrontCurve::Point& a, const FrontCurve::Point& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.bytes < b.bytes;
  });
  std::vector<FrontCurve::Point> front;
  for (const FrontCurve::Point& point : points) {
    if (front.empty() || point.bytes < front.back().bytes) front.push_back(point);
  }
  points = std::move(front);
}

std::optional<double> seconds_within(const FrontCurve& curve, double bytes) {
  for (const FrontCurve::Point& point : curve.points) {
    if (static_cast<double>(point.bytes) <= bytes) return point.seconds;
  }
  return std::nullopt;
}

std::optional<double> bytes_within(const FrontCurve& curve, double seconds) {
  std::optional<double> found;
  for (const FrontCurve::Point& point : curve.points) {
    if (point.seconds <= seconds) found = static_cast<double>(point.bytes);
  }
  return found;
}

// From `low` to `high` in equal factors; both ends exact.
double level(double low, double high, int k) {
  if (k == 0 || k == kLevels - 1) return k == 0 ? low : high;
  return low * std::pow(high / low, static_cast<double>(k) / (kLevels - 1));
}

std::string ratio_text(const CompareRow& row) {
  return row.first && row.second ? format("%.3f", *row.second / *row.first) : "-";
}

}  // namespace

FrontCurve curve_of(std::string name, std::span<const PointSummary> points) {
  FrontCurve curve{std::move(name), {}};
  for (const PointSummary& point : points) curve.points.push_back({point.process_bytes, point.seconds});
  keep_front(curve.points);
  return curve;
}

FrontCurve read_curve(const ByteSource& source) {
  require(source.size <= kMostBytes, source.name, ": takes ", source.size, " bytes, wanted at most ", kMostBytes);
  FrontCurve curve{source.name, {}};
  CurveEvents events(source.name, curve);
  read_json(source, 0, source.size, {}, events);
  require(!curve.points.empty(), source.name, ": found no points, wanted what 'thimble explore --json' writes");
  keep_front(curve.points);
  return curve;
}

FrontComparison compare_fronts(const FrontCurve& first, const FrontCurve& second) {
  const auto both = [&](auto&& choose, auto&& read) {
    return static_cast<double>(choose(read(first.points), read(second.points)));
  };
  const auto least = [](auto a, auto b) { return std::min(a, b); };
  const auto most = [](auto a, auto b) { return std::max(a, b); };
  const double low = both(least, [](const auto& p) { return p.back().bytes; });
  const double high = both(most, [](const auto& p) { return p.front().bytes; });
  const double fast = both(least, [](const auto& p) { return p.front().seconds; });
  const double slow = both(most, [](const auto& p) { return p.back().seconds; });
  FrontComparison result;
  for (int k = 0; k < kLevels; ++k) {
    const double bytes = level(low, high, kLevels - 1 - k), seconds = level(fast, slow, k);
    result.at_bytes.push_back({seconds_within(first, bytes), seconds_within(second, bytes), bytes});
    result.at_seconds.push_back({bytes_within(first, seconds), bytes_within(second, seconds), seconds});
  }
  return result;
}

void print_comparison(std::FILE* out, const FrontCurve& first, const FrontCurve& second) {
  const FrontComparison comparison = compare_fronts(first, second);
  std::fprintf(out, "A is %s, B is %s. Process memory; time is predicted.\n\nTime within the same bytes:\n",
               first.name.c_str(), second.name.c_str());
  const auto milliseconds = [](std::optional<double> s) { return s ? format("%.3f ms", 1e3 * *s) : std::string("-"); };
  const auto memory = [](std::optional<double> b) { return b ? to_mib(static_cast<Bytes>(*b)) : std::string("-"); };
  Table times, sizes;
  times.add({"memory", "A", "B", "B / A"});
  for (const CompareRow& row : comparison.at_bytes)
    times.add({memory(row.at), milliseconds(row.first), milliseconds(row.second), ratio_text(row)});
  times.print(out);
  std::fprintf(out, "\nBytes within the same time:\n");
  sizes.add({"time", "A", "B", "B / A"});
  for (const CompareRow& row : comparison.at_seconds)
    sizes.add({milliseconds(row.at), memory(row.first), memory(row.second), ratio_text(row)});
  sizes.print(out);
}

void write_comparison(JsonWriter& json, const FrontCurve& first, const FrontCurve& second) {
  const FrontComparison comparison = compare_fronts(first, second);
  const auto optional = [&](std::string_view key, std::optional<double> value) {
    value ? json.number(key, *value) : json.null(key);
  };
  json.begin_object();
  json.text("a", first.name);
  json.text("b", second.name);
  json.begin_array("equal_bytes");
  for (const CompareRow& row : comparison.at_bytes) {
    json.begin_object();
    json.integer("process_bytes", static_cast<Bytes>(row.at));
    optional("a_seconds", row.first);
    optional("b_seconds", row.second);
    json.end_object();
  }
  json.end_array();
  json.begin_array("equal_time");
  for (const CompareRow& row : comparison.at_seconds) {
    json.begin_object();
    json.number("seconds", row.at);
    optional("a_process_bytes", row.first);
    optional("b_process_bytes", row.second);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace thimble
