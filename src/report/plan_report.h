// A plan for people and for programs: the same figures both ways.
#pragma once

#include <cstdio>

#include "report/json_writer.h"
#include "report/plan_figures.h"

namespace thimble {

// The fields of one plan, inside an object that the caller has opened.
void write_plan_fields(JsonWriter& json, const PlanFigures& figures, bool fits);

// Where times come from, inside an open object; and of how many kernels they were measured.
void write_cost_fields(JsonWriter& json, CostSource cost, const CostCoverage& coverage);
std::string coverage_text(const CostCoverage& coverage);

void print_plan(std::FILE* out, const Compiled& compiled);
void print_alive(std::FILE* out, const Compiled& compiled,
                 std::size_t most);  // the largest `most` of them, and the rest in one line
void print_passes(std::FILE* out, const Compiled& compiled);
void print_kernels(std::FILE* out,
                   const Compiled& compiled);  // the kernel of every step of the peak's phase, and refusals

// "wrn28-2-gn, batch 100 as 10 microbatches of 10, momentum, f32, avx512, 2 threads"
std::string request_line(const CompileRequest& request, std::int64_t microbatch);

}  // namespace thimble
