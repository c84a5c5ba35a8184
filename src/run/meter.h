// What the system says about this process's memory.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace thimble {

// VmHWM of /proc/self/status: the most that was resident since the start or the last reset. Never getrusage, which
// inherits the parent's peak over exec.
Bytes peak_resident_bytes();
Bytes resident_bytes();  // VmRSS now

// From now on the peak counts anew. False where the system does not let us: then it goes on counting.
bool reset_peak_resident();

// Where the system's figures are found; another folder in tests.
struct MeterFiles {
  std::string proc = "/proc";
  std::string cgroups = "/sys/fs/cgroup";
};

// The smallest of physical memory and the limits of our cgroups and all above them: memory.max and memory.high (v2),
// memory.limit_in_bytes and memory.soft_limit_in_bytes (v1). systemd's limits are these. What "80%" is a share of.
Bytes memory_limit_bytes(const MeterFiles& files = {});

// Time that tasks have waited for memory so far, of our own cgroup if it tells, else of the whole system; zero where
// the system keeps no such record.
std::int64_t memory_stall_microseconds(const MeterFiles& files = {});

}  // namespace thimble
