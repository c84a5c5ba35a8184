#include "base/error.h"
#include "cli/fit.h"
#include "cli/in_sight.h"
#include "cli/request.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "measure/rehearsal.h"
#include "ops/table.h"
#include "report/bench_report.h"
#include "report/waiting_line.h"

namespace thimble::cli {
namespace {

constexpr std::int64_t kDefaultIterations = 5;

RehearsalOptions make_rehearsal(const Arguments& arguments, const CompileRequest& request) {
  RehearsalOptions options;
  options.iterations = static_cast<int>(arguments.integer("iterations", kDefaultIterations));
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0));
  options.spill_folder = arguments.text("spill", "");
  require(!request.allowed.contains("offload") || !options.spill_folder.empty(), arguments.where("allow"),
          ": offload found no folder for its file, wanted --spill DIR");
  return options;
}

BenchFigures measure(Compiled& compiled, const RehearsalOptions& options) {
  const WaitingLine line(redrawable(stderr), "measuring " + compiled.request.model.name);
  const Target target = compiled.request.target;
  const Roofs roofs = measure_roofs(target);  // before the arena is there: each needs the room for itself
  return bench_figures(rehearse(compiled, options), roofs);
}

}  // namespace

ExitCode run_bench(const Arguments& arguments) {
  const auto dataset = open_data(arguments);
  const CompileRequest request = make_request(arguments, dataset.get());
  const RehearsalOptions options = make_rehearsal(arguments, request);
  CompileResult result = compile_in_sight(request, "planning " + request.model.name, op_table(), cpu_kernels());
  const bool writes_json = arguments.flag("json");
  if (!result.compiled) {
    writes_json ? refuse_as_json(request, result) : refuse_for_people(request, result, op_table(), cpu_kernels());
    return ExitCode::does_not_fit;
  }
  const BenchFacts facts{request, result.compiled->microbatch, options.iterations};
  const BenchFigures figures = measure(*result.compiled, options);
  if (writes_json) {
    JsonWriter json(stdout);
    json.begin_object();
    write_bench_fields(json, facts, figures);
    json.end_object();
  } else {
    print_bench(stdout, facts, figures);
  }
  return ExitCode::good;
}

}  // namespace thimble::cli
