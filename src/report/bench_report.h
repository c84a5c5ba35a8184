// Where the time of an iteration goes, beside the machine's roofs: for people and for programs.
#pragma once

#include <cstdio>

#include "compile/compile.h"
#include "measure/bench_figures.h"
#include "report/json_writer.h"

namespace thimble {

// What was measured, beside the figures.
struct BenchFacts {
  CompileRequest request;
  std::int64_t microbatch = 0;
  CostCoverage coverage;
  int iterations = 0;
};

void print_bench(std::FILE* out, const BenchFacts& facts, const BenchFigures& figures);

// The fields, inside an object that the caller has opened.
void write_bench_fields(JsonWriter& json, const BenchFacts& facts, const BenchFigures& figures);

}  // namespace thimble
