// Two fronts side by side: time within equal bytes, bytes within equal time. A front comes from this run or from a file
// that `explore --json` wrote, which is as hostile as any file.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "formats/byte_source.h"
#include "report/front_report.h"

namespace thimble {

struct FrontCurve {
  struct Point {
    Bytes bytes = 0;  // process memory
    double seconds = 0;
  };
  std::string name;
  std::vector<Point> points;  // from fastest to smallest, none beaten
};

FrontCurve curve_of(std::string name, std::span<const PointSummary> points);
FrontCurve read_curve(const ByteSource& source);  // UserError names the file and what is wrong with it

struct CompareRow {
  std::optional<double> first, second;  // none: that front does not reach there
  double at = 0;
};

struct FrontComparison {
  std::vector<CompareRow> at_bytes;    // seconds within `at` bytes
  std::vector<CompareRow> at_seconds;  // bytes within `at` seconds
};

FrontComparison compare_fronts(const FrontCurve& first, const FrontCurve& second);

void print_comparison(std::FILE* out, const FrontCurve& first, const FrontCurve& second);
void write_comparison(JsonWriter& json, const FrontCurve& first, const FrontCurve& second);

}  // namespace thimble
