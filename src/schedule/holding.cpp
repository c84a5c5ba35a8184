#include "schedule/holding.h"

#include <algorithm>

namespace thimble {

const Gap* Holding::find(ValueId value, NodeId after) const {
  const auto found = std::lower_bound(gaps.begin(), gaps.end(), Gap{value, after});
  return found != gaps.end() && found->value == value && found->after == after ? &*found : nullptr;
}

void Holding::set(const Gap& gap) {
  const auto place = std::lower_bound(gaps.begin(), gaps.end(), Gap{gap.value, gap.after});
  if (place != gaps.end() && place->value == gap.value && place->after == gap.after) {
    place->is_held = gap.is_held;
  } else {
    gaps.insert(place, gap);
  }
}

void Holding::set_mode(ValueId value, Keep mode) {
  keep[static_cast<std::size_t>(value.index)] = mode;
  std::erase_if(gaps, [&](const Gap& gap) { return gap.value == value; });
}

}  // namespace thimble
