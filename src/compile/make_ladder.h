// The way to a plan for runs whose budget may change: the same stages, for every rung of a ladder.
#pragma once

#include "compile/compile.h"

namespace thimble {

// As compile(), with a ladder beside the plan. The rungs do not depend on the budget, which only decides where the run
// starts.
CompileResult compile_ladder(const CompileRequest& request, OpTable ops, KernelTable kernels);

}  // namespace thimble
