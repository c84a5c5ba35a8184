#include "memory/verify/contents.h"

#include <iterator>

namespace thimble {

Contents::Contents(std::span<const PersistentPlace> persistents, Space space)
    : persistents_(persistents), slots_(persistents.size()) {
  for (std::size_t p = 0; p < persistents.size(); ++p) {
    const Place& place = persistents[p].place;
    if (place.bytes > 0 && persistents[p].space == space)
      ranges_[place.offset] = {place.end(), 0, static_cast<std::int32_t>(p)};
  }
}

const Contents::Range* Contents::find(const Place& place) const {
  const auto found = ranges_.find(place.offset);
  return found != ranges_.end() && found->second.end == place.end() ? &found->second : nullptr;
}

std::optional<Term> Contents::read(const Place& place, int slot) const {
  const Range* range = find(place);
  if (range == nullptr) return std::nullopt;
  if (range->storage < 0) return range->term;
  const SlotTerms& terms = slots(range->storage);
  const auto found = terms.find(slot);
  return found != terms.end() ? found->second
                              : term_before(persistents_[static_cast<std::size_t>(range->storage)], slot);
}

void Contents::remove(const Place& place) {
  auto next = ranges_.upper_bound(place.offset);
  if (next != ranges_.begin() && std::prev(next)->second.end > place.offset) --next;
  while (next != ranges_.end() && next->first < place.end()) next = ranges_.erase(next);
}

void Contents::write(const Write& write, Term term) {
  spoil(write);
  if (write.place.bytes > 0) ranges_[write.place.offset] = {write.place.end(), term, -1};
}

void Contents::spoil(const Write& write) {
  if (write.place.bytes == 0) return;
  remove(write.place);
  writes_.push_back(write);
}

bool Contents::write_slot(const Write& write, std::int32_t storage, int slot, Term term) {
  if (!is_intact(storage)) return false;
  slots_[static_cast<std::size_t>(storage)][slot] = term;
  writes_.push_back(write);
  return true;
}

bool Contents::is_intact(std::int32_t storage) const {
  const Place& place = persistents_[static_cast<std::size_t>(storage)].place;
  const Range* range = find(place);
  return place.bytes == 0 || (range != nullptr && range->storage == storage);
}

const Contents::Write* Contents::last_write(const Place& place) const {
  for (auto write = writes_.rbegin(); write != writes_.rend(); ++write) {
    if (overlap(write->place, place)) return &*write;
  }
  return nullptr;
}

}  // namespace thimble
