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
  std::string command;                   // that trains, without --memory and --microbatch
  std::optional<Bytes> budget;
};

void print_front(std::FILE* out, const FrontReport& report);
void write_front(JsonWriter& json, const FrontReport& report);

}  // namespace thimble
