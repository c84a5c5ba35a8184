#include "base/error.h"
#include "cli/command.h"
#include "cli/in_sight.h"
#include "cli/request.h"
#include "cli/verbs.h"
#include "formats/publish.h"
#include "ops/table.h"
#include "report/front_compare.h"
#include "report/front_svg.h"
#include "report/plan_report.h"

namespace thimble::cli {
namespace {

// The train command without budget and levers, from the words the user gave.
std::string command_of(const Arguments& arguments) {
  std::string command = "thimble train " + arguments.model();
  if (!arguments.has("data")) command += " --data NAME";
  const bool is_auto = arguments.text("microbatch", "auto") == "auto";
  return command +
         options_text(arguments, Verb::train, {"json", "memory", "allow", "config", is_auto ? "microbatch" : ""});
}

FrontCurve curve_from(const std::string& path) {
  const File file = open_to_read(path);
  return read_curve(file_source(file));
}

void compare(const FrontCurve& first, const FrontCurve& second, bool writes_json) {
  if (writes_json) {
    JsonWriter json(stdout);
    write_comparison(json, first, second);
  } else {
    print_comparison(stdout, first, second);
  }
}

void write_svg(const std::string& path, const FrontReport& report) {
  Publication file(path);
  file.append(bytes_of_text(front_svg(report)));
  file.publish();
}

void tell(const FrontReport& report, bool writes_json) {
  if (writes_json) {
    JsonWriter json(stdout);
    write_front(json, report);
    return;
  }
  std::printf("%s\n", report.title.c_str());
  print_front(stdout, report);
  print_strategies(stdout, report);
}

}  // namespace

ExitCode run_explore(const Arguments& arguments) {
  const std::vector<std::string> files = arguments.list("compare");
  const bool writes_json = arguments.flag("json");
  const std::size_t wanted = arguments.model().empty() ? 2 : 1;
  require(files.empty() || files.size() == wanted, arguments.where("compare"), ": found ", files.size(),
          " files, wanted ", wanted == 2 ? "two, or one beside a model" : "one beside a model, or two without a model");
  if (arguments.model().empty()) {
    require(!arguments.has("svg"), arguments.where("svg"), ": goes with a model, not with two files");
    const FrontCurve first = curve_from(files[0]), second = curve_from(files[1]);
    compare(first, second, writes_json);
    return ExitCode::good;
  }
  const std::optional<FrontCurve> other = files.empty() ? std::nullopt : std::optional(curve_from(files[0]));
  const auto dataset = open_data(arguments);
  const CompileRequest request = make_request(arguments, dataset.get());
  const Exploration exploration =
      explore_in_sight(request, "exploring " + request.model.name, op_table(), cpu_kernels());
  const FrontReport report{.points = exploration.points,
                           .command = command_of(arguments),
                           .budget = request.memory,
                           .title = request_line(request, exploration.points.front().microbatch),
                           .cost = request.cost,
                           .coverage = exploration.coverage,
                           .strategies = exploration.rows};
  if (const GivenValue* svg = arguments.find("svg"); svg != nullptr) write_svg(svg->text, report);
  if (other) {
    compare(curve_of(arguments.model(), exploration.points), *other, writes_json);
  } else {
    tell(report, writes_json);
  }
  return ExitCode::good;
}

}  // namespace thimble::cli
