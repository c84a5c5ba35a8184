// The front drawn and compared: what is drawn is well-formed and complete, what is read is refused unless it is sound.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "report/front_compare.h"
#include "report/front_svg.h"

namespace thimble {
namespace {

PointSummary point(Bytes process_bytes, double seconds, std::vector<std::string> levers = {}) {
  PointSummary summary;
  summary.microbatch = 8;
  summary.arena_bytes = process_bytes - 8 * kMiB;
  summary.process_bytes = process_bytes;
  summary.seconds = seconds;
  summary.strategy = "search";
  summary.levers = std::move(levers);
  return summary;
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Every tag is closed in its turn, nothing stands outside the one root, and no text holds a bare & or <.
void expect_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  int roots = 0;
  for (std::size_t at = 0; at < xml.size();) {
    if (xml[at] == '&') {
      const std::string entity = xml.substr(at, xml.find(';', at) - at);
      EXPECT_TRUE(entity == "&amp" || entity == "&lt" || entity == "&gt" || entity == "&quot") << entity;
    }
    if (xml[at] != '<') {
      EXPECT_TRUE(!open.empty() || xml[at] == '\n') << "text outside the root at " << at;
      ++at;
      continue;
    }
    const std::size_t end = xml.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = xml.substr(at + 1, end - at - 1);
    ASSERT_EQ(tag.find('<'), std::string::npos) << tag;
    EXPECT_EQ(count_of(tag, "\"") % 2, 0) << tag;
    if (tag.starts_with("/")) {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), tag.substr(1));
      open.pop_back();
    } else if (!tag.ends_with("/")) {
      roots += open.empty() ? 1 : 0;
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    at = end + 1;
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(roots, 1);
}

TEST(FrontSvg, DrawsEveryPointAndTellsTheKindsApart) {
  const std::vector<PointSummary> points = {point(90 * kMiB, 0.1), point(60 * kMiB, 0.11, {"microbatch-norm"}),
                                            point(50 * kMiB, 0.12), point(20 * kMiB, 0.2, {"microbatch-norm"}),
                                            point(15 * kMiB, 0.3, {"microbatch-norm"})};
  const std::string svg = front_svg({points, "thimble train x", 40 * kMiB, "x, batch 8"});
  expect_well_formed(svg);
  EXPECT_EQ(count_of(svg, "class=\"lossless point\""), 2);
  EXPECT_EQ(count_of(svg, "class=\"lever point\""), 3);
  EXPECT_EQ(count_of(svg, "class=\"budget\""), 1);
  EXPECT_EQ(count_of(svg, "process memory (MiB)"), 1);
  EXPECT_EQ(count_of(svg, "prefers-color-scheme: dark"), 1);
  EXPECT_EQ(count_of(svg, "--memory "), 5);
  EXPECT_EQ(count_of(svg, "--allow microbatch-norm --memory "), 3);
}

TEST(FrontSvg, WordsOfTheUserStayWords) {
  const std::vector<PointSummary> points = {point(90 * kMiB, 0.1)};
  const std::string svg = front_svg({points, "thimble train x --data 'a&b<c>\"\x01'", {}, "</title><script>"});
  expect_well_formed(svg);
  EXPECT_EQ(count_of(svg, "<script>"), 0);
  EXPECT_EQ(count_of(svg, "\x01"), 0);
  EXPECT_EQ(count_of(svg, "a&amp;b&lt;c&gt;"), 1);
}

TEST(FrontSvg, OnePointIsAFrontToo) {
  const std::vector<PointSummary> points = {point(90 * kMiB, 0.1)};
  const std::string svg = front_svg({points, "thimble train x", {}});
  expect_well_formed(svg);
  EXPECT_EQ(count_of(svg, "nan"), 0);
  EXPECT_EQ(count_of(svg, "inf"), 0);
  EXPECT_EQ(count_of(svg, "class=\"lossless point\""), 1);
}

FrontCurve read(const std::string& text) { return read_curve(memory_source(bytes_of_text(text), "front.json")); }

TEST(FrontCompare, ReadsWhatItIsGivenAndLeavesBeatenPointsOut) {
  const FrontCurve curve = read(R"({"title":"t","strategies":[{"process_bytes":"no"}],"points":[
      {"process_bytes":100,"seconds":1,"levers":["a"],"fits":true},
      {"seconds":3.5,"process_bytes":40},{"process_bytes":70,"seconds":4}]})");
  EXPECT_EQ(curve.name, "front.json");
  ASSERT_EQ(curve.points.size(), 2U);
  EXPECT_EQ(curve.points[0].bytes, 100);
  EXPECT_EQ(curve.points[1].bytes, 40);
  EXPECT_EQ(curve.points[1].seconds, 3.5);
}

TEST(FrontCompare, RefusesWhatIsNoFront) {
  const std::pair<std::string, std::string> mistakes[] = {
      {"", "front.json"},
      {"[]", "front.json"},
      {"{}", "found no points"},
      {R"({"points":[]})", "found no points"},
      {R"({"points":7})", "found no points"},
      {R"({"points":"x"})", "'points' is a text, wanted a list"},
      {R"({"points":[{}]})", "found 0 process_bytes"},
      {R"({"points":[{"process_bytes":100}]})", "found 0 seconds"},
      {R"({"points":[{"process_bytes":-1,"seconds":1}]})", "found -1 process_bytes"},
      {R"({"points":[{"process_bytes":1.5,"seconds":1}]})", "'process_bytes' is a number with a fraction"},
      {R"({"points":[{"process_bytes":"9","seconds":1}]})", "'process_bytes' is a text"},
      {R"({"points":[{"process_bytes":9,"seconds":null}]})", "'seconds' is null"},
      {R"({"points":[{"process_bytes":9,"seconds":-2.0}]})", "found -2 seconds"},
      {R"({"points":[{"process_bytes":9,"seconds":1e999}]})", "front.json"},
      {R"({"points":[{"process_bytes":99999999999999999999,"seconds":1}]})", "'process_bytes' is a number"},
      {R"({"points":[[[[[[]]]]]]})", "front.json"},
      {R"({"points":[{"process_bytes":9,"seconds":1}]} more)", "front.json"},
      {R"({"points":[{"process_bytes":9,"seconds":1})", "front.json"},
  };
  for (const auto& [text, said] : mistakes) {
    try {
      read(text);
      ADD_FAILURE() << "taken: " << text;
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << text << ": " << error.what();
    }
  }
}

TEST(FrontCompare, ComparesWithinEqualBytesAndEqualTime) {
  const FrontCurve first{"a", {{100, 1}, {50, 2}}}, second{"b", {{80, 1}, {25, 4}}};
  const FrontComparison comparison = compare_fronts(first, second);
  EXPECT_EQ(comparison.at_bytes.front().at, 100);
  EXPECT_EQ(comparison.at_bytes.front().first, 1);
  EXPECT_EQ(comparison.at_bytes.front().second, 1);
  EXPECT_EQ(comparison.at_bytes.back().at, 25);
  EXPECT_EQ(comparison.at_bytes.back().first, std::nullopt);
  EXPECT_EQ(comparison.at_bytes.back().second, 4);
  EXPECT_EQ(comparison.at_seconds.front().first, 100);
  EXPECT_EQ(comparison.at_seconds.front().second, 80);
  EXPECT_EQ(comparison.at_seconds.back().first, 50);
  EXPECT_EQ(comparison.at_seconds.back().second, 25);
}

}  // namespace
}  // namespace thimble
