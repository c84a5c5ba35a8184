#include "memory/verify/transfers.h"

#include <algorithm>

#include "base/error.h"
#include "memory/verify/phase.h"
#include "memory/verify/sharing.h"

namespace thimble {
namespace {

// The file is moved in whole blocks.
Place whole_blocks(const Place& place) { return {place.offset, round_up(place.bytes, kBlockAlignment)}; }

}  // namespace

TransferExecution::TransferExecution(const Graph& graph, const PhasePlan& plan, const PlanSet& set, Contents& arena)
    : graph_(graph), plan_(plan), set_(set), arena_(arena), spill_(set.persistents, Space::spill) {}

std::string TransferExecution::text(int index) const {
  const PlannedTransfer& t = transfer(index);
  const bool is_value = t.value.index >= 0 && t.value.index < graph_.value_count();
  return join_text(t.direction == Direction::load ? "load" : "store", " of '",
                   is_value ? graph_.value(t.value).name : "?", "' between arena ", range_text(t.arena), " and spill ",
                   range_text(t.spill));
}

std::optional<std::string> TransferExecution::run(const PlannedStep& step, int s) {
  const int index = step.starts >= 0 ? step.starts : step.waits;
  if (step.starts >= 0 && step.waits >= 0) return "found one step that starts and waits";
  if (step.node.is_valid() || !step.in.empty() || !step.out.empty() || step.workspace.bytes != 0)
    return "found a transfer with operands";
  if (index >= static_cast<int>(plan_.transfers.size()))
    return join_text("found transfer ", index, ", wanted one of ", plan_.transfers.size());
  return step.starts >= 0 ? start(index, s) : wait(index, s);
}

std::optional<std::string> TransferExecution::find_place_fault(int index) const {
  const PlannedTransfer& t = transfer(index);
  const Bytes staging = set_.staging.bytes;
  if (set_.staging.offset != 0 || staging < kBlockAlignment || staging % kBlockAlignment != 0 ||
      staging > set_.persistent_bytes) {
    return join_text("found staging at ", range_text(set_.staging), ", wanted whole blocks at the arena's start");
  }
  if (t.arena.bytes <= 0 || t.arena.bytes != t.spill.bytes)
    return join_text(text(index), ", wanted as many bytes at both ends");
  if (t.arena.offset < set_.persistent_bytes || t.arena.bytes > set_.arena_bytes - t.arena.offset) {
    return join_text(text(index), ", wanted its arena's end inside [", set_.persistent_bytes, ", ", set_.arena_bytes,
                     ")");
  }
  const Place file = whole_blocks(t.spill);
  if (file.offset < 0 || file.bytes > set_.spill_bytes - file.offset)
    return join_text(text(index), ", wanted its file's end inside [0, ", set_.spill_bytes, ")");
  if (t.arena.offset % kPlaceAlignment != 0 || t.spill.offset % kBlockAlignment != 0) {
    return join_text(text(index), ", wanted multiples of ", kPlaceAlignment, " and ", kBlockAlignment);
  }
  return std::nullopt;
}

// Two loads may read the same part of the file; two stores may read the same part of the arena.
std::optional<std::string> TransferExecution::find_meeting(int index) const {
  const PlannedTransfer& t = transfer(index);
  for (const Flight& flight : flights_) {
    const PlannedTransfer& other = transfer(flight.transfer);
    const bool both_load = t.direction == Direction::load && other.direction == Direction::load;
    const bool both_store = t.direction == Direction::store && other.direction == Direction::store;
    const bool meets_arena = overlap(t.arena, other.arena) && !both_store;
    const bool meets_spill = overlap(whole_blocks(t.spill), whole_blocks(other.spill)) && !both_load;
    if (flight.transfer == index || meets_arena || meets_spill) {
      return join_text(text(index), " meets the ", text(flight.transfer), ", in flight since step ", flight.started);
    }
  }
  return std::nullopt;
}

std::optional<std::string> TransferExecution::start(int index, int s) {
  if (index != next_start_) return join_text("found transfer ", index, ", wanted ", next_start_, " to start next");
  ++next_start_;
  if (std::optional<std::string> fault = find_place_fault(index)) return fault;
  if (std::optional<std::string> fault = find_meeting(index)) return fault;
  const PlannedTransfer& t = transfer(index);
  const bool is_load = t.direction == Direction::load;
  const std::optional<Term> term = is_load ? spill_.read(t.spill, 0) : arena_.read(t.arena, 0);
  if (!term) return join_text(text(index), ": found no one value at its source");
  const Contents::Write write{is_load ? t.arena : whole_blocks(t.spill), "what is being moved", s};
  (is_load ? arena_ : spill_).spoil(write);
  flights_.push_back({index, s, *term});
  return std::nullopt;
}

std::optional<std::string> TransferExecution::wait(int index, int s) {
  const auto found =
      std::find_if(flights_.begin(), flights_.end(), [&](const Flight& flight) { return flight.transfer == index; });
  if (found == flights_.end()) return join_text(text(index), ": found it not in flight, wanted a start before");
  const PlannedTransfer& t = transfer(index);
  const bool is_load = t.direction == Direction::load;
  (is_load ? arena_ : spill_).write({is_load ? t.arena : t.spill, "what was moved", s}, found->term);
  flights_.erase(found);
  return std::nullopt;
}

std::optional<std::string> TransferExecution::find_touch(const PlannedStep& step) const {
  for (const Flight& flight : flights_) {
    const PlannedTransfer& t = transfer(flight.transfer);
    const auto fault = [&](std::string_view what, const Place& place) {
      return join_text(what, " at ", range_text(place), " lies on the ", text(flight.transfer),
                       ", in flight since step ", flight.started);
    };
    for (const Place& out : step.out) {
      if (overlap(out, t.arena)) return fault("an output", out);
    }
    if (overlap(step.workspace, t.arena)) return fault("workspace", step.workspace);
    for (const Place& in : step.in) {
      if (t.direction == Direction::load && overlap(in, t.arena)) return fault("an input", in);
    }
  }
  return std::nullopt;
}

std::optional<std::string> TransferExecution::find_end_fault(const Demands& demands) const {
  if (!flights_.empty()) return join_text("found the ", text(flights_.front().transfer), " in flight at the end");
  for (std::size_t p = 0; p < set_.persistents.size(); ++p) {
    const PersistentPlace& persistent = set_.persistents[p];
    if (persistent.space != Space::spill) continue;
    const SlotTerms& last = demands.at_end[p];
    const auto written = last.find(0);
    const Term wanted = written == last.end() ? term_before(persistent, 0) : written->second;
    if (spill_.read(persistent.place, 0) == wanted) continue;
    return join_text("at its end '", persistent.name, "' at spill ", range_text(persistent.place),
                     ": found another value, wanted its last version");
  }
  return std::nullopt;
}

}  // namespace thimble
