#include "memory/verify/verify.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "memory/verify/phase.h"
#include "memory/verify/sharing.h"
#include "memory/verify/transfers.h"

namespace thimble {
namespace {

std::string text(const PersistentPlace& persistent) {
  return join_text("persistent '", persistent.name, "' at ", range_text(persistent.place));
}

// Of one space: [begin, end) is what persistents may take there.
struct Room {
  Space space = Space::arena;
  Bytes begin = 0;
  Bytes end = 0;
  Bytes alignment = 0;
};

std::optional<std::string> find_place_fault(const PersistentPlace& p, const Room& room) {
  if (p.place.bytes != p.type.bytes()) {
    return join_text("persistent '", p.name, "' found ", p.place.bytes, " bytes at ", p.place.offset, ", wanted ",
                     p.type.bytes(), " for ", to_text(p.type));
  }
  if (p.place.offset < room.begin || p.place.bytes > room.end - p.place.offset) {
    return join_text("persistent '", p.name, "' found ", p.place.bytes, " bytes at ", p.place.offset,
                     ", wanted them inside [", room.begin, ", ", room.end, ")");
  }
  if (p.place.offset % room.alignment != 0) return join_text(text(p), ", wanted a multiple of ", room.alignment);
  if (p.space == Space::spill && p.type.layout == Layout::pooled)
    return join_text(text(p), " is a pool, wanted it in the arena");
  return std::nullopt;
}

// Aligned, inside the space's persistent part, no two on the same bytes.
std::optional<std::string> find_room_fault(const PlanSet& set, const Room& room) {
  std::vector<const PersistentPlace*> by_offset;
  for (const PersistentPlace& p : set.persistents) {
    if (p.space != room.space) continue;
    if (std::optional<std::string> fault = find_place_fault(p, room)) return fault;
    if (p.place.bytes > 0) by_offset.push_back(&p);
  }
  std::sort(by_offset.begin(), by_offset.end(),
            [](const PersistentPlace* a, const PersistentPlace* b) { return a->place.offset < b->place.offset; });
  for (std::size_t k = 1; k < by_offset.size(); ++k) {
    if (by_offset[k]->place.offset < round_up(by_offset[k - 1]->place.end(), room.alignment)) {
      return join_text(text(*by_offset[k]), " lies on ", text(*by_offset[k - 1]));
    }
  }
  return std::nullopt;
}

std::optional<std::string> find_persistent_fault(const PlanSet& set) {
  if (set.persistent_bytes < 0 || set.persistent_bytes > set.arena_bytes) {
    return join_text("found ", set.persistent_bytes, " persistent bytes, wanted 0 to ", set.arena_bytes);
  }
  std::set<std::string_view> names;
  for (const PersistentPlace& p : set.persistents) {
    if (!names.insert(p.name).second) return join_text("persistent '", p.name, "' found two places, wanted one");
  }
  const Room arena{Space::arena, set.staging.bytes, set.persistent_bytes, kPlaceAlignment};
  const Room spill{Space::spill, 0, set.spill_bytes, kBlockAlignment};
  if (std::optional<std::string> fault = find_room_fault(set, arena)) return fault;
  return find_room_fault(set, spill);
}

}  // namespace

std::optional<std::string> find_fault(std::span<const PhaseToVerify> phases, const PlanSet& set) {
  if (phases.size() != set.phases.size()) {
    return join_text("found plans of ", set.phases.size(), " phases, wanted ", phases.size());
  }
  if (std::optional<std::string> fault = find_persistent_fault(set)) return fault;
  for (std::size_t p = 0; p < phases.size(); ++p) {
    const PhasePlan& plan = set.phases[p];
    std::optional<std::string> fault = find_phase_fault(phases[p], plan, set);
    if (!fault) fault = find_buffer_fault(phases[p].training->graph, plan, set);
    if (fault) return join_text("phase '", name_of(plan.phase), "', ", *fault);
  }
  return std::nullopt;
}

void verify_plan(std::span<const PhaseToVerify> phases, const PlanSet& set) {
  const std::optional<std::string> fault = find_fault(phases, set);
  ensure(!fault.has_value(), "verify: ", fault.value_or(""));
}

}  // namespace thimble
