// How a run that does not fit is told, by plan and by train alike.
#pragma once

#include "compile/compile.h"

namespace thimble::cli {

// On stdout: the smallest budget that works, what is alive at that peak, and the options that would help, tried one by
// one.
void refuse_for_people(const CompileRequest& request, const CompileResult& result, OpTable ops, KernelTable kernels);

// On stdout the plan of the smallest budget as one object, on stderr a sentence.
void refuse_as_json(const CompileRequest& request, const CompileResult& result);

}  // namespace thimble::cli
