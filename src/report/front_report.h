// The front of memory against time, for people and for programs.
#pragma once

#include <cstdio>
#include <optional>
#include <span>
#include <string>

#include "compile/compile.h"
#include "report/json_writer.h"

namespace thimble {

struct FrontReport {
  std::span<const PointSummary> points;  // from fastest to smallest
  std::string command;                   // that trains, without --memory and --allow
  std::optional<Bytes> budget;
  std::string title = {};  // what is trained
  CostSource cost = CostSource::model;
  CostCoverage coverage = {};
  std::span<const StrategyRow> strategies = {};  // what the search adds over them; may be empty
};

// The command that trains with this very plan.
std::string command_for(const FrontReport& report, const PointSummary& point);

void print_front(std::FILE* out, const FrontReport& report);
void print_strategies(std::FILE* out, const FrontReport& report);
// One object: title, budget_bytes, points, strategies.
void write_front(JsonWriter& json, const FrontReport& report);

}  // namespace thimble
