// Instances of values grouped into buffers: views and in-place pairs share one. Knows lifetimes and sizes, not
// addresses.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "schedule/schedule.h"

namespace thimble {

struct BufferOptions {
  bool in_place = true;
  bool reuse = true;  // false: every buffer lives for the whole phase
};

struct Buffer {
  Bytes bytes = 0;
  std::int32_t first_step = 0;
  std::int32_t last_step = 0;
  std::int32_t instance = -1;  // one of those that live here; -1 for a step's workspace
};

struct BufferSet {
  std::vector<Buffer> buffers;
  std::vector<std::int32_t> buffer_of;     // by instance; -1: the instance lies in persistent storage
  std::vector<std::int32_t> workspace_of;  // by step; -1: none
};

BufferSet make_buffers(const Selected& selected, const PhaseSchedule& schedule, const BufferOptions& options);

// Live bytes (aligned) after each step's outputs and workspace are in place; the peak of it bounds every placement from
// below.
std::vector<Bytes> live_bytes(const BufferSet& set, std::size_t step_count);

}  // namespace thimble
