// Figures of a network that do not depend on its plan: what a conventional framework would hold, and the work of one
// sample.
#pragma once

#include "compile/compile.h"

namespace thimble {

void add_reference_figures(Compiled& compiled, OpTable ops);

}  // namespace thimble
