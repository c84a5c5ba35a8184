#include "schedule/schedule.h"

#include <algorithm>

#include "base/error.h"
#include "schedule/order.h"

namespace thimble {
namespace {

bool is_cloneable(const Graph& graph, NodeId id) {
  if (!id.is_valid() || graph.node(id).op->is_update) return false;
  const std::vector<ValueId>& outputs = graph.node(id).outputs;
  return std::all_of(outputs.begin(), outputs.end(), [&](ValueId v) {
    return graph.value(v).role == Role::activation || graph.value(v).role == Role::gradient;
  });
}

// Steps of the order by the part of the phase they belong to.
struct Parts {
  std::int32_t forward_end = 0, first_pass_end = 0;
};

const Gap* find_gap(std::span<const Gap> gaps, ValueId value, NodeId after) {
  const auto found = std::lower_bound(gaps.begin(), gaps.end(), Gap{value, after});
  return found != gaps.end() && found->value == value && found->after == after ? &*found : nullptr;
}

// Emits the steps of one schedule. `current_` holds, for each value, the instance that a reader would find in memory.
class Emitter {
 public:
  Emitter(const Selected& selected, std::span<const NodeId> order, Parts parts, std::span<const Keep> keep,
          std::span<const Gap> gaps)
      : selected_(selected),
        graph_(selected.graph()),
        order_(order),
        parts_(parts),
        keep_(keep),
        gaps_(gaps),
        current_(static_cast<std::size_t>(graph_.value_count()), -1),
        touched_(static_cast<std::size_t>(graph_.value_count()), -1) {
    schedule_.steps.reserve(order.size() * 2);
    schedule_.instances.reserve(static_cast<std::size_t>(graph_.value_count()) * 2);
    schedule_.operands.reserve(order.size() * 8);
  }

  void note_gaps(std::vector<Gap>& seen) { seen_ = &seen; }

  PhaseSchedule run() {
    for (std::int32_t v = 0; v < graph_.value_count(); ++v) {
      if (!graph_.value(ValueId{v}).producer.is_valid())
        current_[static_cast<std::size_t>(v)] = add_instance(ValueId{v}, 0);
    }
    for (std::int32_t s = 0; s < parts_.first_pass_end; ++s) emit_base(order_[static_cast<std::size_t>(s)], false);
    run_second_pass();
    delay_updates();
    set_lifetimes();
    return std::move(schedule_);
  }

 private:
  std::int32_t add_instance(ValueId value, std::int32_t step) {
    schedule_.instances.push_back({value, step, step});
    return static_cast<std::int32_t>(schedule_.instances.size()) - 1;
  }

  // Backward nodes that lead to a gradient that was dropped while it waited for the norm of all.
  std::vector<bool> repeated_nodes() const {
    std::vector<bool> is_wanted(static_cast<std::size_t>(graph_.value_count()), false);
    std::vector<bool> is_repeated(static_cast<std::size_t>(graph_.node_count()), false);
    const auto want_inputs = [&](NodeId id) {
      for (const ValueId input : graph_.node(id).inputs) {
        const bool is_dropped = is_gradient(input) && keep_[static_cast<std::size_t>(input.index)] != Keep::keep;
        if (is_dropped) is_wanted[static_cast<std::size_t>(input.index)] = true;
      }
    };
    for (auto s = static_cast<std::int32_t>(order_.size()) - 1; s >= parts_.forward_end; --s) {
      const NodeId id = order_[static_cast<std::size_t>(s)];
      const std::vector<ValueId>& outputs = graph_.node(id).outputs;
      const bool is_late = s >= parts_.first_pass_end;
      is_repeated[static_cast<std::size_t>(id.index)] =
          !is_late && std::any_of(outputs.begin(), outputs.end(),
                                  [&](ValueId v) { return is_wanted[static_cast<std::size_t>(v.index)]; });
      if (is_late || is_repeated[static_cast<std::size_t>(id.index)]) want_inputs(id);
    }
    return is_repeated;
  }

  // Backward again, in the order of the first time, as far as dropped gradients ask for it; each update as soon as its
  // gradient is there.
  void run_second_pass() {
    if (parts_.first_pass_end == static_cast<std::int32_t>(order_.size())) return;
    const std::vector<bool> is_repeated = repeated_nodes();
    std::int32_t next = parts_.forward_end;
    for (auto s = static_cast<std::size_t>(parts_.first_pass_end); s < order_.size(); ++s) {
      const std::vector<ValueId>& inputs = graph_.node(order_[s]).inputs;
      for (; !std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) { return is_available(v); }); ++next) {
        ensure(next < parts_.first_pass_end, "schedule: a gradient of the second pass is never made");
        const NodeId id = order_[static_cast<std::size_t>(next)];
        if (is_repeated[static_cast<std::size_t>(id.index)]) emit_base(id, true);
      }
      emit_base(order_[s], false);
    }
  }

  int part_of(std::int32_t base_step) const {
    return base_step < parts_.forward_end ? 0 : base_step < parts_.first_pass_end ? 1 : 2;
  }

  // Whether the instance made last is still in memory when this base step begins to want it.
  bool is_available(ValueId value) const {
    const auto index = static_cast<std::size_t>(value.index);
    const std::int32_t touched = touched_[index];
    if (current_[index] < 0) return false;
    if (touched == base_step_ || touched < 0) return true;  // in use, or there before the phase began
    if (!gaps_.empty() && touched < parts_.first_pass_end) {
      if (const Gap* gap = find_gap(gaps_, value, order_[static_cast<std::size_t>(touched)]); gap != nullptr)
        return gap->is_held;
    }
    if (keep_[index] == Keep::keep) return true;
    const int part = part_of(base_step_);
    const bool stays = part == 0 || keep_[index] == Keep::retain || is_gradient(value);
    return stays && part_of(touched) == part;
  }

  // A second pass takes the same way as the first, so it knows no exceptions of its own.
  void touch(ValueId value) {
    std::int32_t& touched = touched_[static_cast<std::size_t>(value.index)];
    if (seen_ != nullptr && touched >= 0 && touched < std::min(base_step_, parts_.first_pass_end))
      seen_->push_back({value, order_[static_cast<std::size_t>(touched)], is_available(value)});
    touched = base_step_;
  }

  std::int32_t instance_of(ValueId value) {
    if (!is_available(value)) {
      const NodeId producer = graph_.value(value).producer;
      ensure(is_cloneable(graph_, producer), "schedule: '", graph_.value(value).name,
             "' is dropped but cannot be recomputed");
      emit(producer, true);
    }
    return current_[static_cast<std::size_t>(value.index)];
  }

  bool is_gradient(ValueId value) const { return graph_.value(value).role == Role::gradient; }

  void emit_base(NodeId id, bool is_recompute) {
    emit(id, is_recompute);
    ++base_step_;
  }

  void emit(NodeId id, bool is_recompute) {
    const Node& node = graph_.node(id);
    // Recomputing one input may recompute another as a by-product: first make all available, then look them up.
    for (const ValueId input : node.inputs) instance_of(input);
    Step step{id, is_recompute, static_cast<std::int32_t>(schedule_.operands.size()),
              static_cast<std::int16_t>(node.inputs.size()), static_cast<std::int16_t>(node.outputs.size())};
    for (const ValueId input : node.inputs) {
      schedule_.operands.push_back(current_[static_cast<std::size_t>(input.index)]);
      touch(input);
    }
    const auto index = static_cast<std::int32_t>(schedule_.steps.size());
    for (const ValueId output : node.outputs) {
      const std::int32_t instance = add_instance(output, index);
      schedule_.operands.push_back(instance);
      const auto value = static_cast<std::size_t>(output.index);
      // A kept by-product of a recomputed node (a norm's statistics, say) stays what it was.
      if (is_recompute && keep_[value] == Keep::keep && is_available(output)) continue;
      touch(output);
      current_[value] = instance;
    }
    schedule_.steps.push_back(step);
    const Choice& choice = selected_.choice(id);
    schedule_.seconds += choice.seconds;
    schedule_.flops += choice.flops;
    if (is_recompute) schedule_.recompute_flops += choice.flops;
  }

  // No step, recomputed clones included, may read a parameter after its update: updates move behind the last reader.
  void delay_updates() {
    std::vector<std::int32_t> last_reader(static_cast<std::size_t>(graph_.value_count()), -1);
    const auto count = static_cast<std::int32_t>(schedule_.steps.size());
    for (std::int32_t s = 0; s < count; ++s) {
      const Step& step = schedule_.steps[static_cast<std::size_t>(s)];
      if (graph_.node(step.node).op->is_update) continue;
      for (const ValueId input : graph_.node(step.node).inputs) last_reader[static_cast<std::size_t>(input.index)] = s;
    }
    struct Key {
      std::int32_t place;
      std::int32_t original;
    };
    std::vector<Key> keys;
    bool moved = false;
    for (std::int32_t s = 0; s < count; ++s) {
      const Node& node = graph_.node(schedule_.steps[static_cast<std::size_t>(s)].node);
      std::int32_t place = s;
      if (node.op->is_update) {
        for (const InPlacePair& pair : node.op->in_place) {
          if (pair.output >= static_cast<int>(node.outputs.size())) continue;
          const ValueId before = node.inputs[static_cast<std::size_t>(pair.input)];
          place = std::max(place, last_reader[static_cast<std::size_t>(before.index)]);
        }
      }
      moved = moved || place != s;
      keys.push_back({place, s});
    }
    if (!moved) return;
    // At one place the reader comes first, the updates that wait for it after it.
    std::stable_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
      return a.place != b.place ? a.place < b.place : (a.original == a.place && b.original != b.place);
    });
    std::vector<Step> steps;
    steps.reserve(schedule_.steps.size());
    for (const Key& key : keys) steps.push_back(schedule_.steps[static_cast<std::size_t>(key.original)]);
    schedule_.steps = std::move(steps);
  }

  void set_lifetimes() {
    for (std::size_t s = 0; s < schedule_.steps.size(); ++s) {
      const auto index = static_cast<std::int32_t>(s);
      for (const std::int32_t i : schedule_.inputs(schedule_.steps[s]))
        schedule_.instances[static_cast<std::size_t>(i)].last_step = index;
      for (const std::int32_t i : schedule_.outputs(schedule_.steps[s])) {
        Instance& instance = schedule_.instances[static_cast<std::size_t>(i)];
        instance.first_step = index;
        instance.last_step = index;
      }
    }
  }

  const Selected& selected_;
  const Graph& graph_;
  std::span<const NodeId> order_;
  Parts parts_;
  std::span<const Keep> keep_;
  std::span<const Gap> gaps_;
  PhaseSchedule schedule_;
  std::int32_t base_step_ = 0;         // counts originals, and what a second pass repeats
  std::vector<std::int32_t> current_;  // instance a reader finds, by value
  std::vector<std::int32_t> touched_;  // the base step that last made or read a value, itself or for a recomputation
  std::vector<Gap>* seen_ = nullptr;   // gaps are noted here, if anyone asks
};

}  // namespace

const Gap* Holding::find(ValueId value, NodeId after) const { return find_gap(gaps, value, after); }

void Holding::set(const Gap& gap) {
  const auto place = std::lower_bound(gaps.begin(), gaps.end(), Gap{gap.value, gap.after});
  if (place != gaps.end() && place->value == gap.value && place->after == gap.after) {
    place->is_held = gap.is_held;
  } else {
    gaps.insert(place, gap);
  }
}

void Holding::clear(ValueId value) {
  std::erase_if(gaps, [&](const Gap& gap) { return gap.value == value; });
}

Scheduler::Scheduler(const Selected& selected) : selected_(&selected), order_(order_nodes(selected)) {
  const Graph& graph = selected.graph();
  const ValueId loss = graph.find(kLoss);
  forward_count_ = static_cast<std::int32_t>(order_.size());
  if (loss.is_valid() && selected.training.phase.trains) {
    const auto place = std::find(order_.begin(), order_.end(), graph.value(loss).producer);
    forward_count_ = static_cast<std::int32_t>(place - order_.begin()) + 1;
  }
  const std::vector<bool> is_late = second_pass_nodes(graph);
  const auto is_early = [&](NodeId id) { return !is_late[static_cast<std::size_t>(id.index)]; };
  first_pass_count_ = static_cast<std::int32_t>(std::count_if(order_.begin(), order_.end(), is_early));
  ensure(std::is_partitioned(order_.begin(), order_.end(), is_early), "schedule: a step waits for the second pass");
  find_waiting_gradients();
  // A value may be dropped if some later step, or the recomputation of one, can want it back.
  for (std::int32_t s = 0; s < forward_count_; ++s) {
    const NodeId id = order_[static_cast<std::size_t>(s)];
    if (!is_cloneable(graph, id)) continue;
    for (const ValueId output : graph.node(id).outputs) candidates_.push_back(output);
  }
}

void Scheduler::find_waiting_gradients() {
  const Graph& graph = selected_->graph();
  std::vector<bool> is_known(static_cast<std::size_t>(graph.value_count()), false);
  for (std::size_t s = static_cast<std::size_t>(first_pass_count_); s < order_.size(); ++s) {
    for (const ValueId input : graph.node(order_[s]).inputs) {
      const bool waits = graph.value(input).role == Role::gradient && is_cloneable(graph, graph.value(input).producer);
      if (waits && !is_known[static_cast<std::size_t>(input.index)]) waiting_gradients_.push_back(input);
      is_known[static_cast<std::size_t>(input.index)] = true;
    }
  }
}

std::vector<Keep> Scheduler::keep_all() const {
  const Graph& graph = selected_->graph();
  std::vector<Keep> keep(static_cast<std::size_t>(graph.value_count()), Keep::keep);
  // Gradients on the way to those that wait are never wanted later, unless one of those is made again.
  for (std::int32_t v = 0; v < graph.value_count() && !waiting_gradients_.empty(); ++v) {
    const Value& value = graph.value(ValueId{v});
    if (value.role == Role::gradient && is_cloneable(graph, value.producer))
      keep[static_cast<std::size_t>(v)] = Keep::retain;
  }
  for (const ValueId value : waiting_gradients_) keep[static_cast<std::size_t>(value.index)] = Keep::keep;
  for (const ValueId value : candidates_) {
    if (graph.node(graph.value(value).producer).op->never_kept)
      keep[static_cast<std::size_t>(value.index)] = Keep::transient;
  }
  return keep;
}

PhaseSchedule Scheduler::make(std::span<const Keep> keep) const {
  return Emitter(*selected_, order_, {forward_count_, first_pass_count_}, keep, {}).run();
}

PhaseSchedule Scheduler::make(const Holding& holding) const {
  return Emitter(*selected_, order_, {forward_count_, first_pass_count_}, holding.keep, holding.gaps).run();
}

std::vector<Gap> Scheduler::gaps(const Holding& holding) const {
  std::vector<Gap> seen;
  Emitter emitter(*selected_, order_, {forward_count_, first_pass_count_}, holding.keep, holding.gaps);
  emitter.note_gaps(seen);
  emitter.run();
  std::vector<bool> is_candidate(holding.keep.size(), false);
  for (const ValueId value : candidates_) is_candidate[static_cast<std::size_t>(value.index)] = true;
  std::erase_if(seen, [&](const Gap& gap) { return !is_candidate[static_cast<std::size_t>(gap.value.index)]; });
  std::sort(seen.begin(), seen.end());
  return seen;
}

}  // namespace thimble
