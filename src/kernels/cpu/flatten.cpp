// Used only where the view pass is off: elsewhere the output is the input's memory.
#include "kernels/cpu/copy.h"

namespace thimble::kernels::THIMBLE_ISA::flatten_kernel {

extern const Kernel def = {.op = "flatten",
                           .name = "flatten",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_nothing,
                           .prepare = no_state,
                           .run = run_copy};

}  // namespace thimble::kernels::THIMBLE_ISA::flatten_kernel
