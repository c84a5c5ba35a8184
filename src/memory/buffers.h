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

// Groups instances of one schedule after another, in the same memory.
class BufferMaker {
 public:
  // `graph` must outlive it.
  BufferMaker(const FlatGraph& graph, const BufferOptions& options) : graph_(graph), options_(options) {}

  BufferSet run(const PhaseSchedule& schedule);
  // live_bytes() of that.
  void live(const PhaseSchedule& schedule, std::vector<Bytes>& live);

 private:
  void begin();
  void group(const PhaseSchedule& schedule);
  std::int32_t find(std::int32_t instance);
  void join(std::int32_t from, std::int32_t into);
  void join_updates();
  void join_in_place(std::int32_t step);
  bool is_read_twice(const Step& step, std::int32_t group);
  Bytes bytes(std::int32_t instance) const;
  Bytes workspace_of(const Step& step) const;

  const FlatGraph& graph_;
  BufferOptions options_;
  const PhaseSchedule* schedule_ = nullptr;
  std::vector<std::int32_t> group_;     // by instance: another of its group, itself if it stands for the group
  std::vector<std::int32_t> last_use_;  // of those that stand for a group: the last that may not be overwritten
  std::vector<Buffer> buffer_;          // its buffer
  std::vector<std::uint8_t> in_storage_;
};

BufferSet make_buffers(const Selected& selected, const PhaseSchedule& schedule, const BufferOptions& options);

// Live bytes (aligned) after each step's outputs and workspace are in place; the peak of it bounds every placement from
// below.
std::vector<Bytes> live_bytes(const BufferSet& set, std::size_t step_count);

}  // namespace thimble
