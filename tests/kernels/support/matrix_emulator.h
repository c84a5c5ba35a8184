// Matrix registers (AMX) on processors without them: instructions that fault are decoded and done here, thread by
// thread, so that kernels run as they were compiled.
#pragma once

#include "base/isa.h"

namespace thimble::testing {

// The largest instruction set whose kernels can be tested here: this machine's, or, where only matrix registers are
// missing, theirs. From the first call on they are emulated.
Isa tested_isa();

inline bool is_emulated(Isa isa) { return !includes(detect_isa(), isa); }

}  // namespace thimble::testing
