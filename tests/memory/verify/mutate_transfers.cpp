// Ways to alter the transfers of a plan.
#include <algorithm>

#include "memory/verify/mutate.h"

namespace thimble::testing {
namespace {

// A phase of a plan and one of its steps, which starts or waits as wanted; the step is that of none if there is no
// such.
struct TransferSpot {
  PhasePlan& phase;
  std::size_t step_index = 0;

  bool exists() const { return step_index < phase.steps.size(); }
  PlannedStep& step() const { return phase.steps[step_index]; }
  auto position() const { return phase.steps.begin() + static_cast<std::ptrdiff_t>(step_index); }
};

template <typename Wanted>
TransferSpot pick(RealPlan& plan, Dice& dice, const Wanted& is_wanted) {
  TransferSpot spot{plan.set.phases[dice.index(plan.set.phases.size())]};
  std::vector<std::size_t> found;
  for (std::size_t s = 0; s < spot.phase.steps.size(); ++s) {
    if (is_wanted(spot.phase.steps[s])) found.push_back(s);
  }
  spot.step_index = found.empty() ? spot.phase.steps.size() : found[dice.index(found.size())];
  return spot;
}

bool starts(const PlannedStep& step) { return step.starts >= 0; }
bool waits(const PlannedStep& step) { return step.waits >= 0; }

PlannedTransfer* pick_transfer(RealPlan& plan, Dice& dice) {
  PhasePlan& phase = plan.set.phases[dice.index(plan.set.phases.size())];
  return phase.transfers.empty() ? nullptr : &phase.transfers[dice.index(phase.transfers.size())];
}

bool drop_wait(RealPlan& plan, Dice& dice) {
  const TransferSpot spot = pick(plan, dice, waits);
  if (!spot.exists()) return false;
  spot.phase.steps.erase(spot.position());
  return true;
}

bool drop_start(RealPlan& plan, Dice& dice) {
  const TransferSpot spot = pick(plan, dice, starts);
  if (!spot.exists()) return false;
  spot.phase.steps.erase(spot.position());
  return true;
}

// Before the last write of what is stored, or before the store of what is loaded.
bool hoist_start(RealPlan& plan, Dice& dice) {
  const TransferSpot spot = pick(plan, dice, starts);
  if (!spot.exists() || spot.step_index == 0) return false;
  const std::size_t back = 1 + dice.index(std::min<std::size_t>(spot.step_index, 12));
  std::rotate(spot.position() - static_cast<std::ptrdiff_t>(back), spot.position(), spot.position() + 1);
  return true;
}

// Beyond the first use of what is loaded, or beyond the reuse of what is stored.
bool delay_wait(RealPlan& plan, Dice& dice) {
  const TransferSpot spot = pick(plan, dice, waits);
  if (!spot.exists() || spot.step_index + 1 == spot.phase.steps.size()) return false;
  const std::size_t room = spot.phase.steps.size() - spot.step_index - 1;
  const std::size_t on = 1 + dice.index(std::min<std::size_t>(room, 12));
  std::rotate(spot.position(), spot.position() + 1, spot.position() + 1 + static_cast<std::ptrdiff_t>(on));
  return true;
}

bool move_arena_end(RealPlan& plan, Dice& dice) {
  PlannedTransfer* transfer = pick_transfer(plan, dice);
  if (transfer == nullptr) return false;
  transfer->arena.offset += (dice.hits(0.5) ? 64 : -64) * (1 + dice.below(8));
  return true;
}

bool move_file_end(RealPlan& plan, Dice& dice) {
  PlannedTransfer* transfer = pick_transfer(plan, dice);
  if (transfer == nullptr) return false;
  const Bytes before = transfer->spill.offset;
  if (dice.hits(0.5)) {
    transfer->spill.offset = dice.below(plan.set.spill_bytes / kSpillBlock) * kSpillBlock;
  } else {
    transfer->spill.offset += dice.hits(0.7) ? kSpillBlock : 512;
  }
  return transfer->spill.offset != before;
}

bool turn_round(RealPlan& plan, Dice& dice) {
  PlannedTransfer* transfer = pick_transfer(plan, dice);
  if (transfer == nullptr) return false;
  transfer->direction = transfer->direction == Direction::load ? Direction::store : Direction::load;
  return true;
}

bool move_fewer_bytes(RealPlan& plan, Dice& dice) {
  PlannedTransfer* transfer = pick_transfer(plan, dice);
  if (transfer == nullptr || transfer->arena.bytes < 8) return false;
  transfer->arena.bytes -= 4;
  transfer->spill.bytes -= dice.hits(0.5) ? 4 : 0;
  return true;
}

bool swap_file_ends(RealPlan& plan, Dice& dice) {
  constexpr int kTries = 16;  // a pair of one size is rare
  for (int attempt = 0; attempt < kTries; ++attempt) {
    PlannedTransfer *a = pick_transfer(plan, dice), *b = pick_transfer(plan, dice);
    if (a == nullptr || b == nullptr) return false;
    if (a->spill == b->spill || a->spill.bytes != b->spill.bytes) continue;
    std::swap(a->spill, b->spill);
    return true;
  }
  return false;
}

// A step between start and wait writes, or has its workspace, where bytes are on their way.
bool write_in_flight(RealPlan& plan, Dice& dice) {
  const TransferSpot spot = pick(plan, dice, starts);
  if (!spot.exists()) return false;
  const int index = spot.step().starts;
  const PlannedTransfer& transfer = spot.phase.transfers[static_cast<std::size_t>(index)];
  std::vector<PlannedStep*> between;
  for (std::size_t s = spot.step_index + 1; s < spot.phase.steps.size(); ++s) {
    if (spot.phase.steps[s].waits == index) break;
    if (!spot.phase.steps[s].is_transfer()) between.push_back(&spot.phase.steps[s]);
  }
  if (between.empty()) return false;
  PlannedStep& step = *between[dice.index(between.size())];
  if (step.workspace.bytes > 0 && dice.hits(0.5)) {
    step.workspace.offset = transfer.arena.offset;
  } else {
    step.out[dice.index(step.out.size())].offset = transfer.arena.offset;
  }
  return true;
}

// Two loads of one phase land on the same bytes.
bool share_arena_end(RealPlan& plan, Dice& dice) {
  PhasePlan& phase = plan.set.phases[dice.index(plan.set.phases.size())];
  if (phase.transfers.size() < 2) return false;
  PlannedTransfer& a = phase.transfers[dice.index(phase.transfers.size())];
  const PlannedTransfer& b = phase.transfers[dice.index(phase.transfers.size())];
  if (a.arena.offset == b.arena.offset) return false;
  a.arena.offset = b.arena.offset;
  return true;
}

constexpr Mutation kTransferMutations[] = {
    {"wait dropped", drop_wait},           {"start dropped", drop_start},
    {"start hoisted", hoist_start},        {"wait delayed", delay_wait},
    {"arena end moved", move_arena_end},   {"file end moved", move_file_end},
    {"transfer turned round", turn_round}, {"fewer bytes moved", move_fewer_bytes},
    {"file ends swapped", swap_file_ends}, {"written in flight", write_in_flight},
    {"arena ends shared", share_arena_end}};

}  // namespace

std::span<const Mutation> transfer_mutations() { return kTransferMutations; }

}  // namespace thimble::testing
