#include "cli/request.h"
#include "cli/verbs.h"
#include "ops/table.h"
#include "report/front_report.h"
#include "report/plan_report.h"

namespace thimble::cli {
namespace {

// The train command without budget and microbatch, from the words the user gave.
std::string command_of(const Arguments& arguments) {
  std::string command = "thimble train " + arguments.model();
  if (!arguments.has("data")) command += " --data NAME";
  for (const GivenValue& value : arguments.values()) {
    const std::string_view name = value.option->name;
    const bool is_own = (value.option->verbs & set_of(Verb::train)) == 0 || name == "json" || name == "memory" ||
                        name == "microbatch" || name == "config";
    if (is_own || value.text == "false") continue;
    command += join_text(" --", name, value.option->kind == OptionKind::flag ? "" : " " + value.text);
  }
  return command;
}

}  // namespace

ExitCode run_explore(const Arguments& arguments) {
  const auto dataset = open_data(arguments);
  const CompileRequest request = make_request(arguments, dataset.get());
  const std::vector<PointSummary> points = explore(request, op_table(), cpu_kernels());
  const FrontReport report{points, command_of(arguments), request.memory};
  if (arguments.flag("json")) {
    JsonWriter json(stdout);
    write_front(json, report);
    return ExitCode::good;
  }
  std::printf("%s\n", request_line(request, points.front().microbatch).c_str());
  print_front(stdout, report);
  return ExitCode::good;
}

}  // namespace thimble::cli
