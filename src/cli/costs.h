// Costs measured on this machine: where the user's cache has them, and what --cost asks of them.
#pragma once

#include <string>

#include "cli/arguments.h"
#include "compile/compile.h"
#include "measure/cost_cache.h"

namespace thimble::cli {

CostOrigin cost_origin(const Target& target);

// Under XDG_CACHE_HOME, or .cache of HOME; empty if neither names a folder.
std::string cost_path(const CostOrigin& origin);

// Sets the request's costs as --cost says. UserError with the command that measures them if there are none to use.
void add_costs(const Arguments& arguments, CompileRequest& request);

}  // namespace thimble::cli
