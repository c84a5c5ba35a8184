#include "cli/fit.h"
#include "cli/in_sight.h"
#include "cli/request.h"
#include "cli/verbs.h"
#include "ops/table.h"
#include "report/plan_report.h"
#include "report/table.h"

namespace thimble::cli {
namespace {

constexpr std::size_t kShownTensors = 16;

void print_for_people(const Compiled& compiled, const Arguments& arguments) {
  if (const auto budget = compiled.request.memory) {
    std::printf("Fits %s.\n", to_bytes_text(*budget).c_str());
  } else {
    std::printf("No --memory was given: nothing bounds this plan.\n");
  }
  print_plan(stdout, compiled);
  const bool explains = arguments.flag("explain");
  print_alive(stdout, compiled, explains ? compiled.plans.phases.front().buffers.size() + 1 : kShownTensors);
  if (!explains) return;
  print_passes(stdout, compiled);
  print_kernels(stdout, compiled);
}

}  // namespace

ExitCode run_plan(const Arguments& arguments) {
  const auto dataset = open_data(arguments);
  const CompileRequest request = make_request(arguments, dataset.get());
  const CompileResult result = compile_in_sight(request, "planning " + request.model.name, op_table(), cpu_kernels());
  const bool writes_json = arguments.flag("json");
  if (!result.compiled) {
    writes_json ? refuse_as_json(request, result) : refuse_for_people(request, result, op_table(), cpu_kernels());
    return ExitCode::does_not_fit;
  }
  if (writes_json) {
    JsonWriter json(stdout);
    json.begin_object();
    write_plan_fields(json, figures_of(*result.compiled), true);
    json.end_object();
  } else {
    print_for_people(*result.compiled, arguments);
  }
  return ExitCode::good;
}

}  // namespace thimble::cli
