#include "memory/verify/mutate.h"

#include <algorithm>

namespace thimble::testing {
namespace {

constexpr Bytes kAligned = 64;

// A phase of a plan together with its graph, and one of its steps.
struct Spot {
  std::size_t phase_index = 0;
  PhasePlan& phase;
  const Graph& graph;
  std::size_t step_index = 0;

  PlannedStep& step() const { return phase.steps[step_index]; }
  const Node& node() const { return graph.node(step().node); }
  auto position() const { return phase.steps.begin() + static_cast<std::ptrdiff_t>(step_index); }
};

Spot pick_any_step(RealPlan& plan, Dice& dice) {
  const std::size_t p = dice.index(plan.set.phases.size());
  PhasePlan& phase = plan.set.phases[p];
  return {p, phase, plan.trainings[p].graph, dice.index(phase.steps.size())};
}

// One that runs a node.
Spot pick_step(RealPlan& plan, Dice& dice) {
  Spot spot = pick_any_step(plan, dice);
  while (spot.step().is_transfer()) spot.step_index = (spot.step_index + 1) % spot.phase.steps.size();
  return spot;
}

// A step for which `is_wanted` holds; the step index is that of no step if there is none in the phase.
template <typename Wanted>
Spot pick_step_if(RealPlan& plan, Dice& dice, const Wanted& is_wanted) {
  Spot spot = pick_step(plan, dice);
  std::vector<std::size_t> candidates;
  for (spot.step_index = 0; spot.step_index < spot.phase.steps.size(); ++spot.step_index) {
    if (!spot.step().is_transfer() && is_wanted(spot)) candidates.push_back(spot.step_index);
  }
  if (!candidates.empty()) spot.step_index = candidates[dice.index(candidates.size())];
  return spot;
}

bool exists(const Spot& spot) { return spot.step_index < spot.phase.steps.size(); }
bool is_update(const Spot& spot) { return spot.node().op->is_update; }
bool is_recompute(const Spot& spot) { return spot.step().is_recompute; }

// Another offset for `place`: near, somewhere in the arena, or the place of something else.
void nudge(RealPlan& plan, Place& place, Dice& dice) {
  const Bytes before = place.offset;
  switch (dice.below(4)) {
    case 0: place.offset += (dice.hits(0.5) ? 1 : -1) * kAligned * (1 + dice.below(4)); break;
    case 1: place.offset += (dice.hits(0.5) ? 4 : -4) * (1 + dice.below(8)); break;
    case 2: place.offset = dice.below(plan.set.arena_bytes / kAligned + 1) * kAligned; break;
    default: {
      const Spot other = pick_step(plan, dice);
      const std::vector<Place>& places = dice.hits(0.5) ? other.step().in : other.step().out;
      place.offset = places[dice.index(places.size())].offset;
    }
  }
  if (place.offset == before) place.offset += kAligned;
}

bool move_input(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_step(plan, dice);
  nudge(plan, spot.step().in[dice.index(spot.step().in.size())], dice);
  return true;
}

bool move_output(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_step(plan, dice);
  nudge(plan, spot.step().out[dice.index(spot.step().out.size())], dice);
  return true;
}

bool move_workspace(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_step_if(plan, dice, [](const Spot& s) { return s.step().workspace.bytes > 0; });
  if (!exists(spot)) return false;
  nudge(plan, spot.step().workspace, dice);
  return true;
}

// A gap that holds one block, for a kernel that takes more.
bool squeeze_workspace(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_step_if(plan, dice, [](const Spot& s) { return s.step().workspace.bytes > kAligned; });
  if (!exists(spot)) return false;
  const PlannedStep& other = spot.phase.steps[dice.index(spot.phase.steps.size())];
  if (other.in.empty()) return false;
  spot.step().workspace = {other.in[dice.index(other.in.size())].offset - kAligned, kAligned};
  return true;
}

bool move_persistent(RealPlan& plan, Dice& dice) {
  nudge(plan, plan.set.persistents[dice.index(plan.set.persistents.size())].place, dice);
  return true;
}

bool swap_persistents(RealPlan& plan, Dice& dice) {
  std::vector<PersistentPlace>& all = plan.set.persistents;
  PersistentPlace& a = all[dice.index(all.size())];
  for (PersistentPlace& b : all) {
    if (&a == &b || a.type != b.type || dice.hits(0.3)) continue;
    std::swap(a.place, b.place);
    return true;
  }
  return false;
}

bool move_host_input(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_step(plan, dice);
  nudge(plan, spot.phase.inputs[dice.index(spot.phase.inputs.size())].place, dice);
  return true;
}

bool drop_step(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_any_step(plan, dice);
  spot.phase.steps.erase(spot.position());
  return true;
}

bool drop_clone(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_step_if(plan, dice, is_recompute);
  if (!exists(spot)) return false;
  spot.phase.steps.erase(spot.position());
  return true;
}

bool swap_steps(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_any_step(plan, dice);
  const std::size_t count = spot.phase.steps.size();
  const std::size_t other = dice.hits(0.5) ? (spot.step_index + 1) % count : dice.index(count);
  if (other == spot.step_index) return false;
  std::swap(spot.step(), spot.phase.steps[other]);
  return true;
}

bool move_step(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_any_step(plan, dice);
  const PlannedStep step = spot.step();
  spot.phase.steps.erase(spot.position());
  const auto target = static_cast<std::ptrdiff_t>(dice.index(spot.phase.steps.size() + 1));
  spot.phase.steps.insert(spot.phase.steps.begin() + target, step);
  return target != static_cast<std::ptrdiff_t>(spot.step_index);
}

bool hoist_update(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_step_if(plan, dice, [](const Spot& s) { return is_update(s) && s.step_index > 0; });
  if (!exists(spot)) return false;
  const auto target = spot.phase.steps.begin() + static_cast<std::ptrdiff_t>(dice.index(spot.step_index));
  std::rotate(target, spot.position(), spot.position() + 1);
  return true;
}

bool double_update(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_step_if(plan, dice, is_update);
  if (!exists(spot)) return false;
  PlannedStep again = spot.step();
  again.is_recompute = dice.hits(0.5);
  const std::size_t after = spot.step_index + 1 + dice.index(spot.phase.steps.size() - spot.step_index);
  spot.phase.steps.insert(spot.phase.steps.begin() + static_cast<std::ptrdiff_t>(after), again);
  return true;
}

bool double_step(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_any_step(plan, dice);
  PlannedStep again = spot.step();
  again.is_recompute = true;
  const std::size_t target = dice.index(spot.phase.steps.size() + 1);
  spot.phase.steps.insert(spot.phase.steps.begin() + static_cast<std::ptrdiff_t>(target), again);
  return true;
}

bool shrink(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_step(plan, dice);
  const auto half = [](Bytes& bytes) { bytes /= 2; };
  switch (dice.below(5)) {
    case 0: half(spot.step().out[0].bytes); break;
    case 1: half(spot.step().in[0].bytes); break;
    case 2: half(spot.step().workspace.bytes); break;
    case 3: half(spot.phase.buffers[dice.index(spot.phase.buffers.size())].place.bytes); break;
    default: plan.set.arena_bytes -= kAligned * (1 + dice.below(8));
  }
  return true;
}

bool flip_recompute(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_step(plan, dice);
  spot.step().is_recompute = !spot.step().is_recompute;
  return true;
}

bool replace_node(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_step(plan, dice);
  const bool is_similar = dice.hits(0.8);
  std::vector<NodeId> others;
  for (std::int32_t n = 0; n < spot.graph.node_count(); ++n) {
    const Node& other = spot.graph.node(NodeId{n});
    const bool same_op = other.op == spot.node().op && other.inputs.size() == spot.node().inputs.size();
    if (n != spot.step().node.index && (same_op || !is_similar)) others.push_back(NodeId{n});
  }
  if (others.empty()) return false;
  spot.step().node = others[dice.index(others.size())];
  return true;
}

bool swap_inputs(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_step_if(plan, dice, [](const Spot& s) { return s.step().in.size() > 1; });
  if (!exists(spot)) return false;
  std::vector<Place>& in = spot.step().in;
  const std::size_t a = dice.index(in.size()), b = dice.index(in.size());
  std::swap(in[a], in[b]);
  return in[a] != in[b];
}

// One gradient is left out of the norm of all: another is counted in its place, or there are fewer.
bool leave_out_norm(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_step_if(plan, dice, [](const Spot& s) { return s.node().op->ends_first_pass; });
  if (!exists(spot) || spot.step().in.size() < 2) return false;
  std::vector<Place>& in = spot.step().in;
  const std::size_t a = dice.index(in.size()), b = dice.index(in.size());
  if (a == b) {
    in.pop_back();
  } else {
    in[a] = in[b];
  }
  return true;
}

// The places through which one appearance of a value is written and read: the output, its views and all readers, up to
// the step that overwrites it.
std::vector<Place*> uses_of(const Spot& spot, std::size_t output) {
  const Place place = spot.step().out[output];
  std::vector<Place*> uses = {&spot.step().out[output]};
  for (std::size_t s = spot.step_index + 1; s < spot.phase.steps.size(); ++s) {
    PlannedStep& reader = spot.phase.steps[s];
    if (reader.is_transfer()) {
      const int index = reader.starts >= 0 ? reader.starts : reader.waits;
      Place& moved = spot.phase.transfers[static_cast<std::size_t>(index)].arena;
      if (reader.starts >= 0 && moved == place) uses.push_back(&moved);
      continue;
    }
    const bool is_view = spot.graph.node(reader.node).op->is_view && reader.in[0] == place;
    for (Place& in : reader.in) {
      if (in == place) uses.push_back(&in);
    }
    if (is_view) uses.push_back(&reader.out[0]);
    const bool is_overwritten = std::any_of(reader.out.begin(), reader.out.end(), [&](const Place& out) {
      return out.offset < place.end() && place.offset < out.end();
    });
    if (is_overwritten && !is_view) break;
  }
  return uses;
}

void move_uses(const std::vector<Place*>& uses, Bytes offset) {
  for (Place* use : uses) use->offset = offset;
}

// Writer and readers agree on the new place; whether it is free is another matter.
bool move_value(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_step(plan, dice);
  const std::size_t output = dice.index(spot.step().out.size());
  Place target = spot.step().out[output];
  nudge(plan, target, dice);
  move_uses(uses_of(spot, output), target.offset);
  return true;
}

bool force_in_place(RealPlan& plan, Dice& dice) {
  const Spot spot =
      pick_step_if(plan, dice, [](const Spot& s) { return !s.node().op->in_place.empty() && !is_update(s); });
  if (!exists(spot)) return false;
  const auto pairs = spot.node().op->in_place;
  const InPlacePair& pair = pairs[dice.index(pairs.size())];
  const auto output = static_cast<std::size_t>(pair.output);
  const auto input = static_cast<std::size_t>(pair.input);
  if (output >= spot.step().out.size() || input >= spot.step().in.size()) return false;
  const Bytes target = spot.step().in[input].offset;
  if (spot.step().out[output].offset == target) return false;
  move_uses(uses_of(spot, output), target);
  return true;
}

// A recomputed step is left out and its readers turn to where the value was before.
bool read_stale(RealPlan& plan, Dice& dice) {
  const Spot spot = pick_step_if(plan, dice, is_recompute);
  if (!exists(spot)) return false;
  for (std::size_t s = 0; s < spot.step_index; ++s) {
    const PlannedStep& original = spot.phase.steps[s];
    if (original.node != spot.step().node || original.out.size() != spot.step().out.size()) continue;
    for (std::size_t k = 0; k < original.out.size(); ++k) move_uses(uses_of(spot, k), original.out[k].offset);
    spot.phase.steps.erase(spot.position());
    return true;
  }
  return false;
}

// A recomputed step becomes a node of its own with one number changed: a random key, a rate, an epsilon.
bool change_attribute(RealPlan& plan, Dice& dice) {
  static constexpr std::string_view kNumbers[] = {"key", "eps", "p"};
  const bool wants_random = dice.hits(0.5);
  const Spot spot = pick_step_if(plan, dice, [&](const Spot& s) {
    const bool has_numbers = std::any_of(std::begin(kNumbers), std::end(kNumbers),
                                         [&](std::string_view name) { return s.node().attributes.has(name); });
    return s.step().is_recompute && has_numbers && (s.node().op->is_random || !wants_random);
  });
  if (!exists(spot)) return false;
  const Node node = spot.node();
  Attributes attributes = node.attributes;
  std::vector<std::string_view> names;
  for (const std::string_view name : kNumbers) {
    if (attributes.has(name)) names.push_back(name);
  }
  const std::string_view name = names[dice.index(names.size())];
  if (name == "key") {
    attributes.set(name, attributes.integer(name) + 1);
  } else {
    attributes.set(name, attributes.number(name) * 1.5);
  }
  Graph& graph = plan.trainings[spot.phase_index].graph;
  spot.step().node = graph.add_node(node.op->name, node.inputs, attributes, "changed");
  spot.step().is_recompute = false;
  plan.workspaces[spot.phase_index].push_back(0);
  return true;
}

constexpr Mutation kMutations[] = {{"input moved", move_input},
                                   {"output moved", move_output},
                                   {"workspace moved", move_workspace},
                                   {"workspace squeezed", squeeze_workspace},
                                   {"persistent moved", move_persistent},
                                   {"persistents swapped", swap_persistents},
                                   {"host input moved", move_host_input},
                                   {"step dropped", drop_step},
                                   {"clone dropped", drop_clone},
                                   {"steps swapped", swap_steps},
                                   {"step moved", move_step},
                                   {"update hoisted", hoist_update},
                                   {"update doubled", double_update},
                                   {"step doubled", double_step},
                                   {"place shrunk", shrink},
                                   {"recompute flipped", flip_recompute},
                                   {"node replaced", replace_node},
                                   {"inputs swapped", swap_inputs},
                                   {"norm left out", leave_out_norm},
                                   {"value moved", move_value},
                                   {"in place forced", force_in_place},
                                   {"stale read", read_stale},
                                   {"attribute changed", change_attribute}};

}  // namespace

std::span<const Mutation> mutations() {
  static const std::vector<Mutation> kAll = [] {
    std::vector<Mutation> all(std::begin(kMutations), std::end(kMutations));
    for (const Mutation& mutation : transfer_mutations()) all.push_back(mutation);
    return all;
  }();
  return kAll;
}

}  // namespace thimble::testing
