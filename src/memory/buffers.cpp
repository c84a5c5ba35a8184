#include "memory/buffers.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "memory/place/request.h"

namespace thimble {
namespace {

constexpr std::size_t kMostPairs = 16;  // in-place pairs of one op that is not an update

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

inline std::int32_t BufferMaker::find(std::int32_t instance) {
  while (group_[at(instance)] != instance) {
    group_[at(instance)] = group_[at(group_[at(instance)])];
    instance = group_[at(instance)];
  }
  return instance;
}

inline Bytes BufferMaker::bytes(std::int32_t instance) const {
  return graph_.values[at(schedule_->instances[at(instance)].value.index)].bytes;
}

inline Bytes BufferMaker::workspace_of(const Step& step) const {
  return step.kind == StepKind::run ? graph_.nodes[at(step.node.index)].workspace : 0;
}

void BufferMaker::group(const PhaseSchedule& schedule) {
  schedule_ = &schedule;
  begin();
  // Views first: an input may be overwritten only when every view of it is dead too.
  for (const Step& step : schedule.steps) {
    if (step.kind == StepKind::run && graph_.nodes[at(step.node.index)].is_view)
      join(schedule.outputs(step)[0], schedule.inputs(step)[0]);
  }
  if (!schedule.transfers.empty()) join_updates();
  if (!options_.in_place) return;
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) join_in_place(static_cast<std::int32_t>(s));
}

void BufferMaker::begin() {
  const std::size_t count = schedule_->instances.size();
  group_.resize(count);
  last_use_.resize(count);
  buffer_.resize(count);
  in_storage_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Instance& instance = schedule_->instances[i];
    const FlatValue& value = graph_.values[at(instance.value.index)];
    group_[i] = static_cast<std::int32_t>(i);
    last_use_[i] = instance.last_step;
    buffer_[i] = {value.bytes, instance.first_step, instance.last_step, static_cast<std::int32_t>(i)};
    in_storage_[i] = value.is_persistent && !instance.is_copy ? 1 : 0;
  }
}

void BufferMaker::join(std::int32_t from, std::int32_t into) {
  const std::int32_t a = find(into), b = find(from);
  if (a == b) return;
  group_[at(b)] = a;
  last_use_[at(a)] = std::max(last_use_[at(a)], last_use_[at(b)]);
  Buffer& whole = buffer_[at(a)];
  whole.bytes = std::max(whole.bytes, buffer_[at(b)].bytes);
  whole.first_step = std::min(whole.first_step, buffer_[at(b)].first_step);
  whole.last_step = std::max(whole.last_step, buffer_[at(b)].last_step);
  in_storage_[at(a)] |= in_storage_[at(b)];
}

// An update of a copy of a persistent value happens in that copy.
void BufferMaker::join_updates() {
  for (const Step& step : schedule_->steps) {
    if (step.kind != StepKind::run || !graph_.nodes[at(step.node.index)].is_update) continue;
    for (const InPlacePair& pair : graph_.pairs_of(graph_.nodes[at(step.node.index)])) {
      const std::int32_t out = schedule_->outputs(step)[at(pair.output)];
      if (schedule_->instances[at(out)].is_copy) join(out, schedule_->inputs(step)[at(pair.input)]);
    }
  }
}

void BufferMaker::join_in_place(std::int32_t s) {
  const Step& step = schedule_->steps[at(s)];
  if (step.kind != StepKind::run) return;
  const FlatNode& node = graph_.nodes[at(step.node.index)];
  if (node.is_view || node.is_update || node.pair_count == 0) return;
  std::array<std::int32_t, kMostPairs> taken{};
  std::size_t taken_count = 0;
  for (const InPlacePair& pair : graph_.pairs_of(node)) {
    const std::int32_t out = schedule_->outputs(step)[at(pair.output)];
    const std::int32_t in = find(schedule_->inputs(step)[at(pair.input)]);
    if (find(out) != out || in_storage_[at(out)] || in_storage_[at(in)]) continue;
    if (last_use_[at(in)] != s || bytes(in) != bytes(out)) continue;
    const auto end = taken.begin() + static_cast<std::ptrdiff_t>(taken_count);
    if (std::find(taken.begin(), end, in) != end || is_read_twice(step, in)) continue;
    ensure(taken_count < kMostPairs, "buffers: an op overwrites more than ", kMostPairs, " of its inputs");
    taken[taken_count++] = in;
    const std::int32_t out_last = last_use_[at(out)];
    join(out, in);
    last_use_[at(in)] = out_last;
  }
}

bool BufferMaker::is_read_twice(const Step& step, std::int32_t group) {
  int count = 0;
  for (const std::int32_t input : schedule_->inputs(step)) count += find(input) == group ? 1 : 0;
  return count > 1;
}

BufferSet BufferMaker::run(const PhaseSchedule& schedule) {
  group(schedule);
  BufferSet set;
  set.buffer_of.assign(group_.size(), -1);
  for (std::size_t i = 0; i < group_.size(); ++i) {
    const std::int32_t root = find(static_cast<std::int32_t>(i));
    if (in_storage_[at(root)]) continue;
    if (set.buffer_of[at(root)] < 0) {
      set.buffer_of[at(root)] = static_cast<std::int32_t>(set.buffers.size());
      set.buffers.push_back(buffer_[at(root)]);
    }
    set.buffer_of[i] = set.buffer_of[at(root)];
  }
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const Bytes workspace = workspace_of(schedule.steps[s]);
    set.workspace_of.push_back(workspace > 0 ? static_cast<std::int32_t>(set.buffers.size()) : -1);
    const auto step = static_cast<std::int32_t>(s);
    if (workspace > 0) set.buffers.push_back({workspace, step, step, -1});
  }
  if (options_.reuse) return set;
  const auto last = static_cast<std::int32_t>(schedule.steps.size()) - 1;
  for (Buffer& buffer : set.buffers) buffer.first_step = 0, buffer.last_step = last;
  return set;
}

void BufferMaker::live(const PhaseSchedule& schedule, std::vector<Bytes>& live) {
  const std::size_t count = schedule.steps.size();
  if (!options_.reuse) {
    live = live_bytes(run(schedule), count);
    return;
  }
  group(schedule);
  live.assign(count + 1, 0);
  for (std::size_t i = 0; i < group_.size(); ++i) {
    if (at(group_[i]) != i || in_storage_[i]) continue;
    const Bytes bytes = round_up(buffer_[i].bytes, kAlignment);
    live[at(buffer_[i].first_step)] += bytes;
    live[at(buffer_[i].last_step) + 1] -= bytes;
  }
  Bytes sum = 0;
  for (std::size_t s = 0; s < count; ++s) {
    sum += live[s];
    live[s] = sum + round_up(workspace_of(schedule.steps[s]), kAlignment);
  }
  live.resize(count);
}

BufferSet make_buffers(const Selected& selected, const PhaseSchedule& schedule, const BufferOptions& options) {
  const FlatGraph graph(selected);
  return BufferMaker(graph, options).run(schedule);
}

std::vector<Bytes> live_bytes(const BufferSet& set, std::size_t step_count) {
  std::vector<Bytes> live(step_count + 1, 0);
  for (const Buffer& buffer : set.buffers) {
    const Bytes bytes = round_up(buffer.bytes, kAlignment);
    live[at(buffer.first_step)] += bytes;
    live[at(buffer.last_step) + 1] -= bytes;
  }
  for (std::size_t s = 1; s < live.size(); ++s) live[s] += live[s - 1];
  live.resize(step_count);
  return live;
}

}  // namespace thimble
