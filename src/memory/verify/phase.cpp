#include "memory/verify/phase.h"

#include "base/error.h"
#include "memory/verify/contents.h"
#include "memory/verify/sharing.h"
#include "memory/verify/terms.h"
#include "memory/verify/transfers.h"

namespace thimble {
namespace {

constexpr int kBefore = -1;  // the step before the first

class Execution {
 public:
  Execution(const PhaseToVerify& phase, const PhasePlan& plan, const PlanSet& set)
      : training_(*phase.training),
        graph_(training_.graph),
        workspace_bytes_(phase.workspace_bytes),
        plan_(plan),
        set_(set),
        contents_(set.persistents, Space::arena),
        transfers_(graph_, plan, set, contents_),
        runs_(static_cast<std::size_t>(graph_.node_count()), 0) {}

  std::optional<std::string> run() {
    if (check_frame() && fill_inputs() && run_steps() && check_end()) return std::nullopt;
    return fault_;
  }

 private:
  template <typename... Parts>
  bool fail(const Parts&... parts) {
    fault_ = join_text(parts...);
    return false;
  }

  const std::string& name(ValueId id) const { return graph_.value(id).name; }
  const PersistentPlace& persistent(std::int32_t index) const {
    return set_.persistents[static_cast<std::size_t>(index)];
  }
  std::int32_t storage(ValueId id) const { return demands_.storage[static_cast<std::size_t>(id.index)]; }
  Term demanded(ValueId id) const { return demands_.terms[static_cast<std::size_t>(id.index)]; }

  bool check_frame() {
    if (plan_.phase != training_.phase)
      return fail("found a plan for it, wanted one for phase '", name_of(training_.phase), "'");
    if (workspace_bytes_.size() != runs_.size()) {
      return fail("found workspace sizes for ", workspace_bytes_.size(), " nodes, wanted ", runs_.size());
    }
    demands_ = demands_of(graph_, set_.persistents);
    return demands_.fault.empty() || fail(demands_.fault);
  }

  // Size, alignment and bounds; `what` is only put into words when something is wrong.
  template <typename What>
  bool check_place(const Place& place, Bytes wanted, const What& what) {
    if (place.bytes != wanted)
      return fail(what(), " found ", place.bytes, " bytes at ", place.offset, ", wanted ", wanted);
    return check_bounds(place, what);
  }

  template <typename What>
  bool check_bounds(const Place& place, const What& what) {
    if (place.offset < 0 || place.bytes > set_.arena_bytes - place.offset) {
      return fail(what(), " found ", place.bytes, " bytes at ", place.offset, ", wanted them inside [0, ",
                  set_.arena_bytes, ")");
    }
    if (place.offset % kPlaceAlignment != 0) {
      return fail(what(), " at ", range_text(place), ", wanted a multiple of ", kPlaceAlignment);
    }
    return true;
  }

  template <typename What>
  bool check_transient(const Place& place, const What& what) {
    if (place.bytes == 0 || place.offset >= set_.persistent_bytes) return true;
    return fail(what(), " at ", range_text(place), ", wanted a transient behind the ", set_.persistent_bytes,
                " persistent bytes");
  }

  // What the host fills before the phase: every input and label once, disjoint.
  bool fill_inputs() {
    std::vector<bool> is_filled(static_cast<std::size_t>(graph_.value_count()), false);
    for (const PlannedInput& input : plan_.inputs) {
      if (input.value.index < 0 || input.value.index >= graph_.value_count())
        return fail("found an input that is no value");
      const Value& value = graph_.value(input.value);
      const auto what = [&] { return join_text("input '", value.name, "'"); };
      if (value.producer.is_valid() || is_persistent(value.role))
        return fail(what(), " is filled by the host, wanted a source");
      if (!check_place(input.place, value.type.bytes(), what) || !check_transient(input.place, what)) return false;
      if (is_filled[static_cast<std::size_t>(input.value.index)]) return fail(what(), " found two places, wanted one");
      is_filled[static_cast<std::size_t>(input.value.index)] = true;
      if (const Contents::Write* other = contents_.last_write(input.place)) {
        return fail(what(), " at ", range_text(input.place), " lies on '", other->what, "' at ",
                    range_text(other->place));
      }
      contents_.write({input.place, value.name, kBefore}, demanded(input.value));
    }
    for (std::int32_t v = 0; v < graph_.value_count(); ++v) {
      const Role role = graph_.value(ValueId{v}).role;
      if ((role == Role::input || role == Role::label) && !is_filled[static_cast<std::size_t>(v)]) {
        return fail("input '", name(ValueId{v}), "' found no place");
      }
    }
    return true;
  }

  bool run_steps() {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      if (!run_step(plan_.steps[s], static_cast<int>(s))) {
        fault_ = join_text("step ", s, step_text(plan_.steps[s]), ": ", fault_);
        return false;
      }
    }
    return true;
  }

  std::string step_text(const PlannedStep& step) const {
    if (step.is_transfer()) return step.starts >= 0 ? " (start of a transfer)" : " (end of a transfer)";
    if (step.node.index < 0 || step.node.index >= graph_.node_count()) return "";
    const Node& node = graph_.node(step.node);
    return join_text(" (", node.op->name, " '", name(node.outputs[0]), step.is_recompute ? "', recomputed)" : "')");
  }

  bool run_step(const PlannedStep& step, int s) {
    if (step.is_transfer()) {
      std::optional<std::string> fault = transfers_.run(step, s);
      return !fault || fail(*fault);
    }
    if (step.node.index < 0 || step.node.index >= graph_.node_count()) {
      return fail("found node ", step.node.index, ", wanted one of ", graph_.node_count());
    }
    const Node& node = graph_.node(step.node);
    if (!check_turn(node, step) || !check_operands(node, step) || !check_workspace(step)) return false;
    if (std::optional<std::string> fault = find_sharing_fault(graph_, node, step)) return fail(*fault);
    if (!node.op->is_view) {
      if (std::optional<std::string> fault = transfers_.find_touch(step)) return fail(*fault);
    }
    if (!check_reads(node, step)) return false;
    ++runs_[static_cast<std::size_t>(step.node.index)];
    contents_.spoil({step.workspace, "workspace", s});
    return node.op->is_view || write_outputs(node, step, s);
  }

  bool has_storage(const Node& node) const {
    for (const ValueId output : node.outputs) {
      if (storage(output) >= 0) return true;
    }
    return false;
  }

  // The first run of a node is the original, all others are recomputation; what changes persistent values runs once.
  bool check_turn(const Node& node, const PlannedStep& step) {
    const int runs = runs_[static_cast<std::size_t>(step.node.index)];
    if (runs > 0 && (node.op->is_update || has_storage(node))) {
      return fail("found a second run of what writes a persistent value, wanted one");
    }
    if (step.is_recompute != (runs > 0)) {
      return fail("found it marked as ", step.is_recompute ? "recomputed" : "original", " after ", runs,
                  " runs of its node");
    }
    return true;
  }

  bool check_operands(const Node& node, const PlannedStep& step) {
    if (step.in.size() != node.inputs.size() || step.out.size() != node.outputs.size()) {
      return fail("found ", step.in.size(), " inputs and ", step.out.size(), " outputs, wanted ", node.inputs.size(),
                  " and ", node.outputs.size());
    }
    for (std::size_t k = 0; k < step.in.size(); ++k) {
      const auto what = [&] { return join_text("input ", k, " '", name(node.inputs[k]), "'"); };
      if (!check_place(step.in[k], graph_.value(node.inputs[k]).type.bytes(), what)) return false;
    }
    for (std::size_t k = 0; k < step.out.size(); ++k) {
      const auto what = [&] { return join_text("output ", k, " '", name(node.outputs[k]), "'"); };
      if (!check_place(step.out[k], graph_.value(node.outputs[k]).type.bytes(), what)) return false;
      if (!check_home(node, k, step.out[k], what)) return false;
    }
    return true;
  }

  // A persistent value is written to its own place and nowhere else, or to a transient copy if it lives in the spill
  // file; everything else stays out of the persistent part.
  template <typename What>
  bool check_home(const Node& node, std::size_t output, const Place& place, const What& what) {
    const std::int32_t home = storage(node.outputs[output]);
    if (home < 0) return node.op->is_view || check_transient(place, what);
    if (persistent(home).space == Space::spill) return check_transient(place, what);
    const Place& wanted = persistent(home).place;
    return place == wanted ||
           fail(what(), " at ", range_text(place), ", wanted its persistent place, ", range_text(wanted));
  }

  bool check_workspace(const PlannedStep& step) {
    const Bytes wanted = workspace_bytes_[static_cast<std::size_t>(step.node.index)];
    if (step.workspace.bytes < wanted || step.workspace.bytes < 0) {
      return fail("workspace found ", step.workspace.bytes, " bytes at ", step.workspace.offset, ", wanted ", wanted);
    }
    const auto what = [] { return std::string("workspace"); };
    return step.workspace.bytes == 0 || (check_bounds(step.workspace, what) && check_transient(step.workspace, what));
  }

  bool check_reads(const Node& node, const PlannedStep& step) {
    for (std::size_t k = 0; k < step.in.size(); ++k) {
      const ValueId input = node.inputs[k];
      if (step.in[k].bytes == 0 || contents_.read(step.in[k], slot_of(graph_.value(input))) == demanded(input))
        continue;
      return fail("input ", k, " '", name(input), "' at ", range_text(step.in[k]), ": found ", found_text(step.in[k]),
                  ", wanted '", name(input), "'");
    }
    return true;
  }

  std::string found_text(const Place& place) const {
    if (const Contents::Write* write = contents_.last_write(place)) {
      const std::string when = write->step < 0 ? "filled before the phase" : join_text("written by step ", write->step);
      return join_text("'", write->what, "' at ", range_text(write->place), " ", when);
    }
    for (const PersistentPlace& other : set_.persistents) {
      if (other.space == Space::arena && overlap(other.place, place))
        return join_text("'", other.name, "' at ", range_text(other.place), " from before the phase");
    }
    return "nothing that was ever written";
  }

  // All inputs were found to hold the terms demanded, so the outputs hold theirs, recomputed or not.
  bool write_outputs(const Node& node, const PlannedStep& step, int s) {
    for (std::size_t k = 0; k < step.out.size(); ++k) {
      const ValueId output = node.outputs[k];
      const Value& value = graph_.value(output);
      const Contents::Write write{step.out[k], value.name, s};
      if (storage(output) < 0 || persistent(storage(output)).space == Space::spill) {
        contents_.write(write, demanded(output));
      } else if (value.type.layout == Layout::pooled && !node.op->is_update) {
        return fail("output ", k, " '", value.name, "' is one slot of a pool, wanted an update to write it");
      } else if (!contents_.write_slot(write, storage(output), slot_of(value), demanded(output))) {
        return fail("output ", k, " '", value.name, "': found its persistent place destroyed");
      }
    }
    return true;
  }

  bool check_end() {
    for (std::size_t n = 0; n < runs_.size(); ++n) {
      const Node& node = graph_.node(NodeId{static_cast<std::int32_t>(n)});
      if (runs_[n] == 0) return fail("found no step for ", node.op->name, " '", name(node.outputs[0]), "', wanted one");
    }
    if (std::optional<std::string> fault = transfers_.find_end_fault(demands_)) return fail(*fault);
    for (std::size_t p = 0; p < set_.persistents.size(); ++p) {
      if (set_.persistents[p].space == Space::spill) continue;
      const auto index = static_cast<std::int32_t>(p);
      if (contents_.is_intact(index) && contents_.slots(index) == demands_.at_end[p]) continue;
      const PersistentPlace& place = set_.persistents[p];
      return fail("at its end '", place.name, "' at ", range_text(place.place), ": found ", found_text(place.place),
                  ", wanted its last version");
    }
    return true;
  }

  const Training& training_;
  const Graph& graph_;
  std::span<const Bytes> workspace_bytes_;
  const PhasePlan& plan_;
  const PlanSet& set_;
  Demands demands_;
  Contents contents_;
  TransferExecution transfers_;
  std::vector<int> runs_;  // by node
  std::string fault_;
};

}  // namespace

std::optional<std::string> find_phase_fault(const PhaseToVerify& phase, const PhasePlan& plan, const PlanSet& set) {
  return Execution(phase, plan, set).run();
}

}  // namespace thimble
