#include "memory/buffers.h"

#include <algorithm>

#include "base/error.h"
#include "memory/place/request.h"

namespace thimble {
namespace {

class Grouping {
 public:
  Grouping(const Selected& selected, const PhaseSchedule& schedule, const BufferOptions& options)
      : graph_(selected.graph()), selected_(selected), schedule_(schedule), options_(options) {
    group_.resize(schedule.instances.size());
    in_storage_.resize(schedule.instances.size());
    for (std::size_t i = 0; i < group_.size(); ++i) {
      group_[i] = static_cast<std::int32_t>(i);
      const Instance& instance = schedule.instances[i];
      in_storage_[i] = is_persistent(graph_.value(instance.value).role) && !instance.is_copy;
      last_use_.push_back(schedule.instances[i].last_step);
    }
  }

  BufferSet run() {
    // Views first: an input may be overwritten only when every view of it is dead too.
    for (const Step& step : schedule_.steps) join_view(step);
    for (const Step& step : schedule_.steps) join_update(step);
    if (options_.in_place) {
      for (std::size_t s = 0; s < schedule_.steps.size(); ++s) join_in_place(static_cast<std::int32_t>(s));
    }
    return collect();
  }

 private:
  std::int32_t find(std::int32_t i) {
    while (group_[static_cast<std::size_t>(i)] != i) {
      group_[static_cast<std::size_t>(i)] = group_[static_cast<std::size_t>(group_[static_cast<std::size_t>(i)])];
      i = group_[static_cast<std::size_t>(i)];
    }
    return i;
  }

  void join(std::int32_t from, std::int32_t into) {
    const std::int32_t a = find(into), b = find(from);
    if (a == b) return;
    group_[static_cast<std::size_t>(b)] = a;
    last_use_[static_cast<std::size_t>(a)] =
        std::max(last_use_[static_cast<std::size_t>(a)], last_use_[static_cast<std::size_t>(b)]);
    in_storage_[static_cast<std::size_t>(a)] =
        in_storage_[static_cast<std::size_t>(a)] || in_storage_[static_cast<std::size_t>(b)];
  }

  void join_view(const Step& step) {
    if (step.kind != StepKind::run) return;
    if (graph_.node(step.node).op->is_view) join(schedule_.outputs(step)[0], schedule_.inputs(step)[0]);
  }

  // An update of a copy of a persistent value happens in that copy.
  void join_update(const Step& step) {
    if (step.kind != StepKind::run || !graph_.node(step.node).op->is_update) return;
    for (const InPlacePair& pair : graph_.node(step.node).op->in_place) {
      if (pair.output >= step.output_count) continue;
      const std::int32_t out = schedule_.outputs(step)[static_cast<std::size_t>(pair.output)];
      if (schedule_.instances[static_cast<std::size_t>(out)].is_copy)
        join(out, schedule_.inputs(step)[static_cast<std::size_t>(pair.input)]);
    }
  }

  void join_in_place(std::int32_t s) {
    const Step& step = schedule_.steps[static_cast<std::size_t>(s)];
    if (step.kind != StepKind::run) return;
    const Node& node = graph_.node(step.node);
    if (node.op->is_view || node.op->is_update) return;
    std::vector<std::int32_t> taken;
    for (const InPlacePair& pair : node.op->in_place) {
      const std::int32_t out = schedule_.outputs(step)[static_cast<std::size_t>(pair.output)];
      const std::int32_t in = find(schedule_.inputs(step)[static_cast<std::size_t>(pair.input)]);
      if (find(out) != out || in_storage_[static_cast<std::size_t>(out)] || in_storage_[static_cast<std::size_t>(in)])
        continue;
      if (last_use_[static_cast<std::size_t>(in)] != s || bytes(in) != bytes(out)) continue;
      if (std::find(taken.begin(), taken.end(), in) != taken.end() || is_read_twice(step, in)) continue;
      taken.push_back(in);
      const std::int32_t out_last = last_use_[static_cast<std::size_t>(out)];
      join(out, in);
      last_use_[static_cast<std::size_t>(in)] = out_last;
    }
  }

  bool is_read_twice(const Step& step, std::int32_t group) {
    int count = 0;
    for (const std::int32_t input : schedule_.inputs(step)) count += find(input) == group ? 1 : 0;
    return count > 1;
  }

  Bytes bytes(std::int32_t instance) const {
    return graph_.value(schedule_.instances[static_cast<std::size_t>(instance)].value).type.bytes();
  }

  BufferSet collect() {
    BufferSet set;
    set.buffer_of.assign(group_.size(), -1);
    const auto last = static_cast<std::int32_t>(schedule_.steps.size()) - 1;
    for (std::size_t i = 0; i < group_.size(); ++i) {
      const std::int32_t root = find(static_cast<std::int32_t>(i));
      if (in_storage_[static_cast<std::size_t>(root)]) continue;
      std::int32_t& buffer = set.buffer_of[static_cast<std::size_t>(root)];
      const Instance& instance = schedule_.instances[i];
      if (buffer < 0) {
        buffer = static_cast<std::int32_t>(set.buffers.size());
        set.buffers.push_back({0, instance.first_step, instance.last_step, root});
      }
      set.buffer_of[i] = buffer;
      Buffer& b = set.buffers[static_cast<std::size_t>(buffer)];
      b.bytes = std::max(b.bytes, bytes(static_cast<std::int32_t>(i)));
      b.first_step = std::min(b.first_step, instance.first_step);
      b.last_step = std::max(b.last_step, instance.last_step);
    }
    for (std::size_t s = 0; s < schedule_.steps.size(); ++s) {
      const Step& step = schedule_.steps[s];
      const Bytes workspace = step.kind == StepKind::run ? selected_.choice(step.node).workspace : 0;
      set.workspace_of.push_back(workspace > 0 ? static_cast<std::int32_t>(set.buffers.size()) : -1);
      if (workspace > 0)
        set.buffers.push_back({workspace, static_cast<std::int32_t>(s), static_cast<std::int32_t>(s), -1});
    }
    if (!options_.reuse) {
      for (Buffer& buffer : set.buffers) buffer.first_step = 0, buffer.last_step = last;
    }
    return set;
  }

  const Graph& graph_;
  const Selected& selected_;
  const PhaseSchedule& schedule_;
  const BufferOptions& options_;
  std::vector<std::int32_t> group_;
  std::vector<std::int32_t> last_use_;
  std::vector<bool> in_storage_;
};

}  // namespace

BufferSet make_buffers(const Selected& selected, const PhaseSchedule& schedule, const BufferOptions& options) {
  return Grouping(selected, schedule, options).run();
}

std::vector<Bytes> live_bytes(const BufferSet& set, std::size_t step_count) {
  std::vector<Bytes> live(step_count + 1, 0);
  for (const Buffer& buffer : set.buffers) {
    const Bytes bytes = round_up(buffer.bytes, kAlignment);
    live[static_cast<std::size_t>(buffer.first_step)] += bytes;
    live[static_cast<std::size_t>(buffer.last_step) + 1] -= bytes;
  }
  for (std::size_t s = 1; s < live.size(); ++s) live[s] += live[s - 1];
  live.resize(step_count);
  return live;
}

}  // namespace thimble
