// Which machine this is, as far as times of kernels depend on it.
#pragma once

#include <string>

#include "base/bytes.h"

namespace thimble {

std::string cpu_name();  // model with family and stepping; "unknown" where the processor does not tell

// Of the first core, as the system lists its caches in `folder`; 0 where it does not tell. Not from sysconf, which
// multiplies by what it takes for the number of cores on some virtual machines.
Bytes last_level_cache_bytes(const std::string& folder = "/sys/devices/system/cpu/cpu0/cache");

}  // namespace thimble
