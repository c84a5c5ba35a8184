#include "schedule/emit.h"

#include <algorithm>

#include "base/error.h"

namespace thimble {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

inline std::int32_t Emitter::add_instance(std::int32_t value, std::int32_t step) {
  now_.schedule.instances.push_back({.value = ValueId{value}, .first_step = step, .last_step = step});
  return static_cast<std::int32_t>(now_.schedule.instances.size()) - 1;
}

inline int Emitter::part_of(std::int32_t base_step) const {
  return base_step < parts_.forward_end ? 0 : base_step < parts_.first_pass_end ? 1 : 2;
}

inline const Gap* Emitter::find_gap(std::int32_t value, std::int32_t touched) const {
  // A second pass takes the same way as the first, so it knows no exceptions of its own.
  if (first_gap_.empty() || touched >= parts_.first_pass_end) return nullptr;
  const NodeId after = order_[at(touched)];
  for (std::int32_t g = first_gap_[at(value)]; g < first_gap_[at(value) + 1]; ++g) {
    if (gaps_[at(g)].after == after) return &gaps_[at(g)];
  }
  return nullptr;
}

// Whether the instance made last is still in memory when this base step begins to want it.
inline bool Emitter::is_available(std::int32_t value) const {
  if (now_.current[at(value)] < 0) return false;
  if (first_gap_.empty() && keep_[at(value)] == Keep::keep) return true;
  const std::int32_t touched = now_.touched[at(value)];
  if (touched == now_.base_step || touched < 0) return true;  // in use, or there before the phase began
  if (const Gap* gap = find_gap(value, touched); gap != nullptr) return gap->is_held;
  if (keep_[at(value)] == Keep::keep) return true;
  const int part = part_of(now_.base_step);
  const bool stays = part == 0 || keep_[at(value)] != Keep::transient || graph_.values[at(value)].is_gradient;
  return stays && part_of(touched) == part;
}

inline void Emitter::touch(std::int32_t value) {
  if (seen_ != nullptr) note_gap(value);
  now_.touched[at(value)] = now_.base_step;
}

Emitter::Emitter(const FlatGraph& graph, std::span<const NodeId> order, Parts parts)
    : graph_(graph), order_(order), parts_(parts) {
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    if (graph.values[v].producer < 0) given_.push_back(static_cast<std::int32_t>(v));
  }
  is_forward_.assign(graph.nodes.size(), false);
  for (std::int32_t s = 0; s < parts.forward_end; ++s) is_forward_[at(order[at(s)].index)] = true;
  now_.schedule.steps.reserve(order.size() * 2);
  now_.schedule.instances.reserve(graph.values.size() * 2);
  now_.schedule.operands.reserve(graph.operands.size() * 2);
}

PhaseSchedule& Emitter::run(std::span<const Keep> keep, std::span<const Gap> gaps) {
  keep_ = keep;
  index_gaps(gaps);
  const bool is_plain = is_plain_forward();
  if (is_plain && after_forward_.base_step > 0) {
    now_ = after_forward_;
  } else {
    begin();
  }
  while (now_.base_step < parts_.forward_end) emit_base(order_[at(now_.base_step)], false);
  if (is_plain && after_forward_.base_step == 0) after_forward_ = now_;
  while (now_.base_step < parts_.first_pass_end) emit_base(order_[at(now_.base_step)], false);
  run_second_pass();
  delay_updates();
  set_lifetimes(now_.schedule);
  return now_.schedule;
}

void Emitter::begin() {
  const std::size_t count = graph_.values.size();
  now_.schedule.steps.clear();
  now_.schedule.instances.clear();
  now_.schedule.operands.clear();
  now_.schedule.transfers.clear();
  now_.schedule.slots.clear();
  now_.schedule.seconds = now_.schedule.flops = now_.schedule.recompute_flops = 0;
  now_.current.assign(count, -1);
  now_.touched.assign(count, -1);
  now_.last_reader.assign(count, -1);
  now_.updates.clear();
  now_.base_step = 0;
  for (const std::int32_t value : given_) now_.current[at(value)] = add_instance(value, 0);
}

void Emitter::index_gaps(std::span<const Gap> gaps) {
  gaps_ = gaps;
  first_gap_.clear();
  if (gaps.empty()) return;
  first_gap_.assign(graph_.values.size() + 1, 0);
  for (const Gap& gap : gaps) ++first_gap_[at(gap.value.index) + 1];
  for (std::size_t v = 0; v < graph_.values.size(); ++v) first_gap_[v + 1] += first_gap_[v];
}

// Modes speak of what comes after forward: unless something is dropped within it, forward is always the same.
bool Emitter::is_plain_forward() const {
  if (seen_ != nullptr) return false;
  return std::none_of(gaps_.begin(), gaps_.end(),
                      [&](const Gap& gap) { return !gap.is_held && is_forward_[at(gap.after.index)]; });
}

void Emitter::note_gap(std::int32_t value) {
  const std::int32_t touched = now_.touched[at(value)];
  if (touched >= 0 && touched < std::min(now_.base_step, parts_.first_pass_end))
    seen_->push_back({{ValueId{value}, order_[at(touched)], is_available(value)}, touched, now_.base_step});
}

// Backward nodes that lead to a gradient that was dropped while it waited for the norm of all.
std::vector<bool> Emitter::repeated_nodes() const {
  std::vector<bool> is_wanted(graph_.values.size(), false), is_repeated(graph_.nodes.size(), false);
  for (auto s = static_cast<std::int32_t>(order_.size()) - 1; s >= parts_.forward_end; --s) {
    const std::size_t id = at(order_[at(s)].index);
    const std::span<const std::int32_t> outputs = graph_.outputs(graph_.nodes[id]);
    const bool is_late = s >= parts_.first_pass_end;
    is_repeated[id] = !is_late && std::any_of(outputs.begin(), outputs.end(), [&](auto v) { return is_wanted[at(v)]; });
    if (!is_late && !is_repeated[id]) continue;
    for (const std::int32_t input : graph_.inputs(graph_.nodes[id])) {
      const bool is_had = keep_[at(input)] == Keep::keep || keep_[at(input)] == Keep::spill;
      if (graph_.values[at(input)].is_gradient && !is_had) is_wanted[at(input)] = true;
    }
  }
  return is_repeated;
}

// Backward again, in the order of the first time, as far as dropped gradients ask for it; each update as soon as its
// gradient is there.
void Emitter::run_second_pass() {
  if (parts_.first_pass_end == static_cast<std::int32_t>(order_.size())) return;
  const std::vector<bool> is_repeated = repeated_nodes();
  const auto can_be_had = [&](std::int32_t v) { return is_available(v) || keep_[at(v)] == Keep::spill; };
  std::int32_t next = parts_.forward_end;
  for (auto s = static_cast<std::size_t>(parts_.first_pass_end); s < order_.size(); ++s) {
    const std::span<const std::int32_t> inputs = graph_.inputs(graph_.nodes[at(order_[s].index)]);
    for (; !std::all_of(inputs.begin(), inputs.end(), can_be_had); ++next) {
      ensure(next < parts_.first_pass_end, "schedule: a gradient of the second pass is never made");
      const NodeId id = order_[at(next)];
      if (is_repeated[at(id.index)]) emit_base(id, true);
    }
    emit_base(order_[s], false);
  }
}

void Emitter::emit_base(NodeId id, bool is_recompute) {
  emit(id.index, is_recompute);
  ++now_.base_step;
}

void Emitter::make_again(std::int32_t value) {
  const std::int32_t producer = graph_.values[at(value)].producer;
  ensure(producer >= 0 && graph_.nodes[at(producer)].is_cloneable, "schedule: value ", value,
         " is dropped but cannot be recomputed");
  emit(producer, true);
}

// Every part loads what the first instance stored.
void Emitter::load_back(std::int32_t value) {
  std::int32_t& current = now_.current[at(value)];
  const std::int32_t before = now_.schedule.instances[at(current)].loaded_from;
  const std::int32_t stored = before < 0 ? current : before;
  current = add_instance(value, static_cast<std::int32_t>(now_.schedule.steps.size()));
  now_.schedule.instances.back().loaded_from = stored;
  touch(value);
}

void Emitter::emit(std::int32_t id, bool is_recompute) {
  const FlatNode& node = graph_.nodes[at(id)];
  // Recomputing one input may recompute another as a by-product: first make all available, then look them up.
  for (const std::int32_t input : graph_.inputs(node)) {
    if (is_available(input)) continue;
    keep_[at(input)] == Keep::spill ? load_back(input) : make_again(input);
  }
  PhaseSchedule& schedule = now_.schedule;
  const auto index = static_cast<std::int32_t>(schedule.steps.size());
  const std::size_t first = schedule.operands.size();
  schedule.steps.push_back(
      {NodeId{id}, is_recompute, static_cast<std::int32_t>(first), node.input_count, node.output_count});
  schedule.operands.resize(first + static_cast<std::size_t>(node.input_count + node.output_count));
  std::int32_t* operand = schedule.operands.data() + first;
  for (const std::int32_t input : graph_.inputs(node)) {
    *operand++ = now_.current[at(input)];
    touch(input);
    if (!node.is_update && graph_.values[at(input)].is_overwritten) now_.last_reader[at(input)] = index;
  }
  for (const std::int32_t output : graph_.outputs(node)) {
    const std::int32_t instance = add_instance(output, index);
    *operand++ = instance;
    // A kept by-product of a recomputed node (a norm's statistics, say) stays what it was; so does a spilled one.
    if (is_recompute && keep_[at(output)] == Keep::spill) continue;
    if (is_recompute && keep_[at(output)] == Keep::keep && is_available(output)) continue;
    touch(output);
    now_.current[at(output)] = instance;
  }
  if (node.is_update) now_.updates.push_back(index);
  schedule.seconds += node.seconds;
  schedule.flops += node.flops;
  if (is_recompute) schedule.recompute_flops += node.flops;
}

// No step, recomputed clones included, may read a parameter after its update: updates move behind the last reader. One
// that makes its own gradient may read parameters that others update (a norm's): those come after it, wherever it goes.
void Emitter::delay_updates() {
  places_.clear();
  bool moved = false;
  for (const std::int32_t update : now_.updates) {
    const FlatNode& node = graph_.nodes[at(now_.schedule.steps[at(update)].node.index)];
    std::int32_t place = update;
    for (const InPlacePair& pair : graph_.pairs_of(node))
      place = std::max(place, now_.last_reader[at(graph_.inputs(node)[at(pair.input)])]);
    places_.push_back(place);
    if (place == update) continue;
    moved = true;
    // Of all that it reads: what it writes itself, nobody else does.
    for (const std::int32_t input : graph_.inputs(node)) {
      std::int32_t& last = now_.last_reader[at(input)];
      last = std::max(last, place);
    }
  }
  if (!moved) return;
  first_behind_.assign(now_.schedule.steps.size(), -1);
  next_behind_.assign(now_.updates.size(), -1);
  for (std::size_t u = now_.updates.size(); u-- > 0;) {
    if (places_[u] == now_.updates[u]) continue;
    next_behind_[u] = first_behind_[at(places_[u])];
    first_behind_[at(places_[u])] = static_cast<std::int32_t>(u);
  }
  reordered_.clear();
  std::size_t next = 0;  // update
  for (std::size_t s = 0; s < now_.schedule.steps.size(); ++s) {
    const bool is_update = next < now_.updates.size() && at(now_.updates[next]) == s;
    if (!is_update || at(places_[next]) == s) reordered_.push_back(now_.schedule.steps[s]);
    next += is_update ? 1 : 0;
    for (std::int32_t u = first_behind_[s]; u >= 0; u = next_behind_[at(u)])
      reordered_.push_back(now_.schedule.steps[at(now_.updates[at(u)])]);
  }
  std::swap(now_.schedule.steps, reordered_);
}

}  // namespace thimble
