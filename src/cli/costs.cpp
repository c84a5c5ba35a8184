#include "cli/costs.h"

#include <cstdlib>

#include "base/error.h"
#include "cli/command.h"

namespace thimble::cli {
namespace {

// By the XDG rules a path that is not absolute is passed over.
std::string absolute_folder(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value == '/' ? value : "";
}

std::string cache_folder() {
  if (const std::string cache = absolute_folder("XDG_CACHE_HOME"); !cache.empty()) return cache + "/thimble";
  const std::string home = absolute_folder("HOME");
  return home.empty() ? "" : home + "/.cache/thimble";
}

std::string bench_command(const Arguments& arguments) {
  return join_text("thimble bench ", arguments.model(),
                   options_text(arguments, Verb::bench, {"json", "cost", "config"}));
}

}  // namespace

CostOrigin cost_origin(const Target& target) { return origin_here(target.isa, THIMBLE_VERSION); }

std::string cost_path(const CostOrigin& origin) {
  const std::string folder = cache_folder();
  return folder.empty() ? "" : join_text(folder, "/", cost_file_name(origin));
}

void add_costs(const Arguments& arguments, CompileRequest& request) {
  if (arguments.text("cost", "model") == "model") return;
  const std::string where = arguments.where("cost");
  const CostOrigin origin = cost_origin(request.target);
  const std::string path = cost_path(origin);
  require(!path.empty(), where, ": found neither XDG_CACHE_HOME nor HOME, wanted a folder where costs are kept");
  const FoundCosts found = find_costs(path, origin);
  const std::string measure = join_text("measure them with: ", bench_command(arguments));
  require(found.fault.empty(), where, ": ", found.fault, "; ", measure);
  require(found.file.has_value(), where, ": found no costs of this machine in ", path, "; ", measure);
  request.cost = CostSource::measured;
  request.costs = cost_table(*found.file, request.target.threads);
  require(request.costs != nullptr, where, ": found no costs with ", request.target.threads,
          request.target.threads == 1 ? " thread" : " threads", " in ", path, "; ", measure);
}

}  // namespace thimble::cli
