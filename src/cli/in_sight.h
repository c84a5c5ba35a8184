// Planning that the user can see: where it takes longer than a second, a line on stderr says what it is for. Nothing is
// said where stderr is no terminal.
#pragma once

#include <string>

#include "compile/compile.h"

namespace thimble::cli {

CompileResult compile_in_sight(const CompileRequest& request, std::string what, OpTable ops, KernelTable kernels);
Exploration explore_in_sight(const CompileRequest& request, std::string what, OpTable ops, KernelTable kernels);

}  // namespace thimble::cli
