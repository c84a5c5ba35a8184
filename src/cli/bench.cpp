#include "cli/costs.h"
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
  options.spill_folder = spill_folder(arguments, request);
  return options;
}

BenchFigures measure(Compiled& compiled, const RehearsalOptions& options) {
  const WaitingLine line(redrawable(stderr), "measuring " + compiled.request.model.name);
  const Target target = compiled.request.target;
  // Before the arena is there and when it is gone: each needs the room for itself. Some machines are twice as fast at
  // one time as at the other.
  const Roofs before = measure_roofs(target);
  const BenchTimes times = rehearse(compiled, options);
  return bench_figures(times, better_of(before, measure_roofs(target)));
}

// The file with what was measured now; a damaged one is told and begun anew.
CostFile joined_costs(const std::string& path, const CostOrigin& origin, const BenchFigures& figures, int threads) {
  FoundCosts found = find_costs(path, origin);
  if (!found.fault.empty())
    std::fprintf(stderr, "thimble: note: the costs kept before are replaced: %s\n", found.fault.c_str());
  return with_figures(found.file ? std::move(*found.file) : CostFile{origin, {}}, figures, threads);
}

void keep(const std::string& path, const CostOrigin& origin, const BenchFigures& figures, int threads, std::FILE* out) {
  if (path.empty()) {
    std::fprintf(stderr, "thimble: note: the costs are not kept: found neither XDG_CACHE_HOME nor HOME\n");
    return;
  }
  const CostFile file = joined_costs(path, origin, figures, threads);
  publish_costs(path, file);
  std::fprintf(out, "\n%zu costs of this machine are kept for --cost measured in %s\n", file.entries.size(),
               path.c_str());
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
  const BenchFacts facts{request, result.compiled->microbatch, result.compiled->coverage, options.iterations};
  const BenchFigures figures = measure(*result.compiled, options);
  const CostOrigin origin = cost_origin(request.target);
  const std::string path = cost_path(origin);
  if (writes_json) {
    JsonWriter json(stdout);
    json.begin_object();
    write_bench_fields(json, facts, figures);
    path.empty() ? json.null("cost_file") : json.text("cost_file", path);
    json.end_object();
  } else {
    print_bench(stdout, facts, figures);
  }
  keep(path, origin, figures, request.target.threads, writes_json ? stderr : stdout);
  return ExitCode::good;
}

}  // namespace thimble::cli
