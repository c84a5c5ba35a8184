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

// Emits the steps of one schedule. `current_` holds, for each value, the instance that a reader would find in memory.
class Emitter {
 public:
  Emitter(const Selected& selected, std::span<const NodeId> order, Parts parts, std::span<const Keep> keep)
      : selected_(selected),
        graph_(selected.graph()),
        order_(order),
        parts_(parts),
        keep_(keep),
        current_(static_cast<std::size_t>(graph_.value_count()), -1),
        made_in_(static_cast<std::size_t>(graph_.value_count()), 0),
        made_for_(static_cast<std::size_t>(graph_.value_count()), kOriginal) {
    schedule_.steps.reserve(order.size() * 2);
    schedule_.instances.reserve(static_cast<std::size_t>(graph_.value_count()) * 2);
    schedule_.operands.reserve(order.size() * 8);
  }

  PhaseSchedule run() {
    for (std::int32_t v = 0; v < graph_.value_count(); ++v) {
      if (!graph_.value(ValueId{v}).producer.is_valid())
        current_[static_cast<std::size_t>(v)] = add_instance(ValueId{v}, 0);
    }
    for (std::int32_t s = 0; s < parts_.first_pass_end; ++s) {
      part_ = s < parts_.forward_end ? 0 : 1;
      emit(order_[static_cast<std::size_t>(s)], false);
    }
    run_second_pass();
    delay_updates();
    set_lifetimes(schedule_);
    return std::move(schedule_);
  }

 private:
  std::int32_t add_instance(ValueId value, std::int32_t step) {
    schedule_.instances.push_back({.value = value, .first_step = step, .last_step = step});
    return static_cast<std::int32_t>(schedule_.instances.size()) - 1;
  }

  // Backward nodes that lead to a gradient that was dropped while it waited for the norm of all.
  std::vector<bool> repeated_nodes() const {
    std::vector<bool> is_wanted(static_cast<std::size_t>(graph_.value_count()), false);
    std::vector<bool> is_repeated(static_cast<std::size_t>(graph_.node_count()), false);
    const auto want_inputs = [&](NodeId id) {
      for (const ValueId input : graph_.node(id).inputs) {
        const Keep mode = keep_[static_cast<std::size_t>(input.index)];
        const bool is_dropped = is_gradient(input) && mode != Keep::keep && mode != Keep::spill;
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
    part_ = 2;
    const std::vector<bool> is_repeated = repeated_nodes();
    const auto can_be_had = [&](ValueId v) { return is_available(v) || is_spilled(v); };
    std::int32_t next = parts_.forward_end;
    for (auto s = static_cast<std::size_t>(parts_.first_pass_end); s < order_.size(); ++s) {
      const std::vector<ValueId>& inputs = graph_.node(order_[s]).inputs;
      for (; !std::all_of(inputs.begin(), inputs.end(), can_be_had); ++next) {
        ensure(next < parts_.first_pass_end, "schedule: a gradient of the second pass is never made");
        const NodeId id = order_[static_cast<std::size_t>(next)];
        if (is_repeated[static_cast<std::size_t>(id.index)]) emit(id, true);
      }
      emit(order_[s], false);
    }
  }

  bool is_available(ValueId value) const {
    const auto index = static_cast<std::size_t>(value.index);
    if (current_[index] < 0) return false;
    if (keep_[index] == Keep::keep) return true;
    // A gradient has one reader to come.
    const bool stays = keep_[index] == Keep::retain || is_spilled(value) || is_gradient(value);
    if (stays || made_for_[index] == kOriginal) return made_in_[index] == part_;
    return made_for_[index] == reader_;
  }

  std::int32_t instance_of(ValueId value) {
    if (!is_available(value) && is_spilled(value)) {
      load_back(value);
    } else if (!is_available(value)) {
      const NodeId producer = graph_.value(value).producer;
      ensure(is_cloneable(graph_, producer), "schedule: '", graph_.value(value).name,
             "' is dropped but cannot be recomputed");
      emit(producer, true);
    }
    return current_[static_cast<std::size_t>(value.index)];
  }

  bool is_gradient(ValueId value) const { return graph_.value(value).role == Role::gradient; }
  bool is_spilled(ValueId value) const { return keep_[static_cast<std::size_t>(value.index)] == Keep::spill; }

  // Every part loads what the first instance stored.
  void load_back(ValueId value) {
    const auto index = static_cast<std::size_t>(value.index);
    const std::int32_t before = schedule_.instances[static_cast<std::size_t>(current_[index])].loaded_from;
    const std::int32_t stored = before < 0 ? current_[index] : before;
    current_[index] = add_instance(value, static_cast<std::int32_t>(schedule_.steps.size()));
    schedule_.instances.back().loaded_from = stored;
    made_in_[index] = part_;
  }

  void emit(NodeId id, bool is_recompute) {
    const Node& node = graph_.node(id);
    // What is recomputed on the way to a forward value is for the reader of that value.
    if (!is_recompute || is_gradient(node.outputs[0])) ++reader_;
    // Recomputing one input may recompute another as a by-product: first make all available, then look them up.
    for (const ValueId input : node.inputs) instance_of(input);
    Step step{id, is_recompute, static_cast<std::int32_t>(schedule_.operands.size()),
              static_cast<std::int16_t>(node.inputs.size()), static_cast<std::int16_t>(node.outputs.size())};
    for (const ValueId input : node.inputs)
      schedule_.operands.push_back(current_[static_cast<std::size_t>(input.index)]);
    const auto index = static_cast<std::int32_t>(schedule_.steps.size());
    for (const ValueId output : node.outputs) {
      const std::int32_t instance = add_instance(output, index);
      schedule_.operands.push_back(instance);
      const auto value = static_cast<std::size_t>(output.index);
      // A kept by-product of a recomputed node (a norm's statistics, say) stays what it was; so does a spilled one.
      if (is_recompute && (keep_[value] == Keep::keep || keep_[value] == Keep::spill)) continue;
      current_[value] = instance;
      made_in_[value] = part_;
      if (is_recompute) made_for_[value] = reader_;
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

  const Selected& selected_;
  const Graph& graph_;
  std::span<const NodeId> order_;
  static constexpr std::int32_t kOriginal = -1;
  Parts parts_;
  std::span<const Keep> keep_;
  PhaseSchedule schedule_;
  int part_ = 0;
  std::int32_t reader_ = 0;             // counts those that values are recomputed for
  std::vector<std::int32_t> current_;   // by value: instance a reader finds ...
  std::vector<int> made_in_;            // ... the part that made it ...
  std::vector<std::int32_t> made_for_;  // ... and the reader it was recomputed for; kOriginal: it was not
};

}  // namespace

void set_lifetimes(PhaseSchedule& schedule) {
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const auto index = static_cast<std::int32_t>(s);
    for (const std::int32_t i : schedule.inputs(schedule.steps[s]))
      schedule.instances[static_cast<std::size_t>(i)].last_step = index;
    for (const std::int32_t i : schedule.outputs(schedule.steps[s])) {
      Instance& instance = schedule.instances[static_cast<std::size_t>(i)];
      instance.first_step = index;
      instance.last_step = index;
    }
  }
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
  return Emitter(*selected_, order_, {forward_count_, first_pass_count_}, keep).run();
}

}  // namespace thimble
