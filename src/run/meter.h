// What the system says about this process's memory.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace thimble {

// VmHWM of /proc/self/status: the most that was ever resident. Never getrusage, which inherits the parent's peak over
// exec.
Bytes peak_resident_bytes();
Bytes resident_bytes();  // VmRSS now

// The smallest of cgroup limit (v1 or v2, all ancestors) and physical memory; what "80%" is a share of.
Bytes memory_limit_bytes();

}  // namespace thimble
