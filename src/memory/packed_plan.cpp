#include "memory/packed_plan.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace thimble {
namespace {

std::uint32_t unit_of(const Place& place) {
  const Bytes unit = place.offset / kPackedUnit;
  ensure(place.offset % kPackedUnit == 0 && unit < kNoWorkspace, "packed plan: a place at ", place.offset,
         ", wanted a multiple of ", kPackedUnit, " below ", kNoWorkspace * kPackedUnit);
  return static_cast<std::uint32_t>(unit);
}

bool is_view(const Graph& graph, const PlannedStep& step) {
  return !step.is_transfer() && graph.node(step.node).op->is_view;
}

std::uint32_t word_of(const PlannedStep& transfer) {
  const bool starts = transfer.starts >= 0;
  const auto index = static_cast<std::uint32_t>(starts ? transfer.starts : transfer.waits);
  ensure(index <= kTransferIndex, "packed plan: transfer ", index, ", wanted at most ", kTransferIndex);
  return (starts ? kStartsTransfer : kWaitsForTransfer) | index;
}

std::uint32_t block_of(const Place& place) {
  const Bytes block = place.offset / kSpillBlock;
  ensure(place.offset % kSpillBlock == 0 && block <= std::numeric_limits<std::uint32_t>::max(),
         "packed plan: a place in the spill file at ", place.offset, ", wanted a multiple of ", kSpillBlock);
  return static_cast<std::uint32_t>(block);
}

PackedTransfer pack(const PlannedTransfer& transfer) {
  return {.bytes = transfer.arena.bytes,
          .unit = unit_of(transfer.arena),
          .block = block_of(transfer.spill),
          .direction = transfer.direction};
}

std::vector<PackedPhase::Buffer> list_buffers(const Graph& graph, const PhasePlan& plan) {
  // Step numbers of the plan count views, which are not packed.
  std::vector<std::int32_t> packed_index;
  std::int32_t last = -1;
  for (const PlannedStep& step : plan.steps) packed_index.push_back(is_view(graph, step) ? last : ++last);
  std::vector<PackedPhase::Buffer> buffers;
  for (const PlannedBuffer& buffer : plan.buffers)
    buffers.push_back({packed_index[static_cast<std::size_t>(buffer.last_step)], buffer.place});
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const auto& a, const auto& b) { return a.last_step < b.last_step; });
  return buffers;
}

}  // namespace

PackedPhase pack(const Graph& graph, const PhasePlan& plan, PackedBuffers buffers) {
  PackedPhase packed;
  packed.phase = plan.phase;
  for (const PlannedStep& step : plan.steps) {
    if (is_view(graph, step)) continue;
    if (step.is_transfer()) {
      packed.words.push_back(word_of(step));
      continue;
    }
    packed.words.push_back(static_cast<std::uint32_t>(step.node.index));
    for (const Place& place : step.in) packed.words.push_back(unit_of(place));
    for (const Place& place : step.out) packed.words.push_back(unit_of(place));
    packed.words.push_back(step.workspace.bytes > 0 ? unit_of(step.workspace) : kNoWorkspace);
  }
  packed.words.shrink_to_fit();
  for (const PlannedTransfer& transfer : plan.transfers) packed.transfers.push_back(pack(transfer));
  for (const PlannedInput& input : plan.inputs) packed.inputs.push_back({input.value, unit_of(input.place)});
  if (buffers == PackedBuffers::listed) packed.buffers = list_buffers(graph, plan);
  return packed;
}

PackedPlans pack_frame(const PlanSet& set) {
  PackedPlans packed;
  packed.persistent_bytes = set.persistent_bytes;
  packed.arena_bytes = set.arena_bytes;
  packed.spill_bytes = set.spill_bytes;
  packed.persistents.reserve(set.persistents.size());
  for (const PersistentPlace& persistent : set.persistents) {
    const bool is_spilled = persistent.space == Space::spill;
    packed.persistents.push_back(
        {is_spilled ? block_of(persistent.place) : unit_of(persistent.place), persistent.space});
  }
  return packed;
}

Bytes PackedPlans::held_bytes() const {
  Bytes bytes = static_cast<Bytes>(sizeof(PackedPlans) + persistents.size() * sizeof(PackedPlace));
  for (const PackedPhase& phase : phases) {
    bytes +=
        static_cast<Bytes>(sizeof(PackedPhase) + phase.words.size() * sizeof(phase.words[0]) +
                           phase.transfers.size() * sizeof(PackedTransfer) + phase.inputs.size() * sizeof(PackedInput) +
                           phase.buffers.size() * sizeof(PackedPhase::Buffer));
  }
  return bytes;
}

}  // namespace thimble
