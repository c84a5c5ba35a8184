// How a run that does not fit is told, by plan and by train alike.
#pragma once

#include <cstdio>

#include "cli/advice.h"
#include "cli/verbs.h"
#include "report/json_writer.h"

namespace thimble::cli {

void print_refusal(std::FILE* out, const CompileRequest& request, const CompileResult& result, OpTable ops,
                   KernelTable kernels);
void write_refusal(JsonWriter& json, const CompileResult& result);  // the object for the smallest plan

}  // namespace thimble::cli
