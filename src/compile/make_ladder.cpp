#include "compile/make_ladder.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "compile/check_request.h"
#include "compile/named_front.h"
#include "compile/reference_figures.h"
#include "compile/unbeaten.h"

namespace thimble {
namespace {

// A held plan costs some twenty bytes a step: enough rungs that a budget between two of them wastes little.
constexpr int kRungs = 24;
constexpr int kRungsOfMany = 8;                // a microbatch, where several share the ladder
constexpr Bytes kHeldPerPersistent = 192;      // of a layout: name, type, place
constexpr Bytes kHeldPerNode = 128;            // of a phase that only another microbatch runs: kernel, types
constexpr std::int64_t kMostMicrobatches = 8;  // a ladder of more would hold more kernels than it saves

// The fastest point under each of `count` targets, each about the same factor below the one before.
std::vector<NamedPoint> thinned(std::vector<NamedPoint> front, int count) {
  // Above what every plan holds in any case.
  Bytes base = front.front().resident_bytes;
  for (const NamedPoint& point : front) base = std::min(base, point.resident_bytes);
  const auto bytes_of = [&](const NamedPoint& point) { return static_cast<double>(point.arena_bytes() - base); };
  const double most = bytes_of(front.front()), least = bytes_of(front.back());
  constexpr double kRounding = 1 + 1e-9;
  std::vector<NamedPoint> kept;
  std::size_t next = 0;
  for (int k = 0; k < count && next < front.size(); ++k) {
    const double target = most * std::pow(least / most, static_cast<double>(k) / (count - 1)) * kRounding;
    if (!kept.empty() && bytes_of(kept.back()) <= target) continue;
    while (next + 1 < front.size() && bytes_of(front[next]) > target) ++next;
    kept.push_back(std::move(front[next++]));
  }
  return kept;
}

class LadderMaker {
 public:
  LadderMaker(const CompileRequest& request, OpTable ops, KernelTable kernels)
      : request_(request), ops_(ops), kernels_(kernels), fronts_(request, request.recompute, Depth::whole) {}

  void add(std::int64_t microbatch, int rung_count) {
    auto stages = std::make_unique<Stages>(request_, microbatch, ops_, kernels_);
    Fronts::Front front = fronts_.of(*stages);
    for (NamedPoint& point : thinned(std::move(front.points), rung_count)) add_rung(*stages, std::move(point));
    stages_.push_back(std::move(stages));
  }

  CompileResult finish() {
    settle();
    const std::optional<std::size_t> start = ladder_.find(request_.memory);
    ladder_.start = start.value_or(ladder_.rungs.size() - 1);
    const Rung& rung = ladder_.rungs[ladder_.start];
    const Entry& entry = entries_[ladder_.start];
    Stages& stages = *stages_[rung.layout];
    Stages::Planned planned = stages.plan(entry.point.choice, entry.point.strategy);
    planned.point = rung.point;
    planned.reserve = predict_reserve(entry.facts);
    Compiled compiled = stages.finish(std::move(planned));
    add_reference_figures(compiled, ops_);
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      if (s == rung.layout) continue;
      for (Selected& phase : stages_[s]->finish_phases()) ladder_.other_phases.push_back(std::move(phase));
    }
    compiled.ladder = std::move(ladder_);
    CompileResult result;
    if (start) {
      result.compiled = std::move(compiled);
      return result;
    }
    result.smallest_tensor_bytes = compiled.point.arena_bytes;
    result.smallest_memory = compiled.point.process_bytes;
    result.smallest_microbatch = compiled.microbatch;
    result.smallest = std::move(compiled);
    return result;
  }

 private:
  struct Entry {
    Rung rung;
    NamedPoint point;
    ReserveFacts facts;
  };

  void add_rung(const Stages& stages, NamedPoint point) {
    Stages::Planned planned = stages.plan(point.choice, point.strategy);
    stages.verify(planned.plans);
    const std::size_t layout = stages_.size();
    if (ladder_.layouts.size() == layout) {
      ladder_.layouts.push_back({stages.microbatch(), stages.evaluation_samples(), planned.plans.persistents});
    }
    check_places(planned.plans);
    Entry entry{{layout, std::move(planned.point), stages.packed(planned.plans)}, std::move(point), planned.facts};
    entries_.push_back(std::move(entry));
  }

  // What the verifier cannot see in one plan: that a move to another finds state, and sums over microbatches of the
  // same size, where the plan before left them, or can take them from there.
  void check_places(const PlanSet& plans) {
    const bool may_move = request_.allowed.contains("offload");
    for (const LadderLayout& layout : ladder_.layouts) {
      const bool is_own = &layout == &ladder_.layouts.back();
      ensure(!is_own || layout.persistents.size() == plans.persistents.size(), "ladder: found ",
             plans.persistents.size(), " persistent values, wanted ", layout.persistents.size());
      for (std::size_t p = 0; p < layout.persistents.size(); ++p) {
        const PersistentPlace& known = layout.persistents[p];
        if (!is_own && (known.role == Role::accumulator || known.role == Role::metric)) continue;
        const PersistentPlace* place = is_own ? &plans.persistents[p] : plans.find(known.name);
        ensure(place != nullptr && place->name == known.name && place->type == known.type, "ladder: '", known.name,
               "' is not the same in every plan");
        ensure(may_move || place->place == known.place, "ladder: '", known.name,
               "' does not lie at the same place in every plan");
      }
    }
    for (const PersistentPlace& persistent : plans.persistents) {
      if (persistent.space != Space::spill) continue;
      const Bytes offset = homes_.emplace(persistent.name, persistent.place.offset).first->second;
      ensure(persistent.place.offset == offset, "ladder: '", persistent.name, "' found at ", persistent.place.offset,
             " of the spill file, wanted at ", offset, " as in another plan");
    }
  }

  // Reserves with the whole ladder in them; what another rung beats is left out.
  void settle() {
    Bytes held = 0, resident = 0;
    bool has_spill_file = false;
    for (const Entry& entry : entries_) has_spill_file = has_spill_file || entry.rung.plans.spill_bytes > 0;
    for (const Entry& entry : entries_) held += entry.rung.plans.held_bytes();
    for (const LadderLayout& layout : ladder_.layouts)
      held += kHeldPerPersistent * static_cast<Bytes>(layout.persistents.size());
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      if (s > 0) held += kHeldPerNode * stages_[s]->node_count();
      resident += stages_[s]->resident_kernel_bytes();
    }
    for (Entry& entry : entries_) {
      entry.facts.ladder_bytes = held;
      entry.facts.has_spill_file = has_spill_file;
      entry.facts.resident_kernel_bytes = resident;
      entry.rung.point.process_bytes = entry.rung.point.arena_bytes + predict_reserve(entry.facts).total();
    }
    keep_unbeaten(
        entries_, [](const Entry& entry) { return entry.rung.point.process_bytes; },
        [](const Entry& entry) { return entry.rung.point.seconds; });
    for (Entry& entry : entries_) ladder_.rungs.push_back(std::move(entry.rung));
  }

  const CompileRequest& request_;
  OpTable ops_;
  KernelTable kernels_;
  Fronts fronts_;
  std::vector<std::unique_ptr<Stages>> stages_;  // one a layout
  std::vector<Entry> entries_;
  std::map<std::string, Bytes> homes_;  // in the spill file, by name
  Ladder ladder_;
};

// Halves, down to one.
std::vector<std::int64_t> halved(std::int64_t most) {
  std::vector<std::int64_t> sizes = {most};
  while (sizes.back() > 1 && static_cast<std::int64_t>(sizes.size()) < kMostMicrobatches)
    sizes.push_back((sizes.back() + 1) / 2);
  return sizes;
}

}  // namespace

CompileResult compile_ladder(const CompileRequest& request, OpTable ops, KernelTable kernels) {
  check_request(request);
  CompileRequest steady = request;
  steady.changing = false;
  if (request.allowed.contains("microbatch-change")) {
    // Smaller microbatches cost little until the cores starve; from there on recomputation is cheaper. The prediction
    // of time knows both, so that Sage's order follows from taking the fastest that fits.
    steady.microbatch = 1;
    check_splitting(steady, ops);
    LadderMaker maker(request, ops, kernels);
    for (const std::int64_t size : halved(std::min(request.microbatch.value_or(request.batch), request.batch)))
      maker.add(size, kRungsOfMany);
    return maker.finish();
  }
  const bool may_split = check_splitting(request, ops);
  if (!request.microbatch) {
    const CompileResult chosen = compile(steady, ops, kernels);
    steady.microbatch = chosen.compiled ? chosen.compiled->microbatch : chosen.smallest_microbatch;
  }
  // The ladder itself takes some of a tight budget: then a smaller microbatch than without it.
  CompileResult smallest;
  for (const std::int64_t size : microbatch_candidates(request, may_split)) {
    if (size > *steady.microbatch) continue;
    LadderMaker maker(request, ops, kernels);
    maker.add(size, kRungs);
    CompileResult result = maker.finish();
    if (result.compiled) return result;
    if (!smallest.smallest || result.smallest_memory < smallest.smallest_memory) smallest = std::move(result);
  }
  return smallest;
}

}  // namespace thimble
