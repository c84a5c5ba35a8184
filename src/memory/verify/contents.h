// What one space holds at one moment of a symbolic execution: byte ranges and their terms. Bytes outside every range
// are rubbish. A range that is overwritten in part is rubbish as a whole, since nothing ever reads a part of a value.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "memory/verify/terms.h"

namespace thimble {

inline bool overlap(const Place& a, const Place& b) {
  return a.bytes > 0 && b.bytes > 0 && a.offset < b.end() && b.offset < a.end();
}

class Contents {
 public:
  // Something that was put somewhere; kept so that a fault can say what lies where something else was wanted.
  struct Write {
    Place place;
    std::string_view what;  // must outlive the contents
    int step = -1;          // -1: before the first step
  };

  Contents(std::span<const PersistentPlace> persistents, Space space);  // those that live there, at version 0

  // Nothing if the place is not, from first to last byte, what one write or one persistent place put there.
  std::optional<Term> read(const Place& place, int slot) const;

  void write(const Write& write, Term term);
  void spoil(const Write& write);  // leaves rubbish
  // One slot of an intact persistent place; the other slots stay. False if the place is no longer intact.
  bool write_slot(const Write& write, std::int32_t storage, int slot, Term term);

  bool is_intact(std::int32_t storage) const;
  const SlotTerms& slots(std::int32_t storage) const { return slots_[static_cast<std::size_t>(storage)]; }

  const Write* last_write(const Place& place) const;  // null: untouched since before the phase

 private:
  struct Range {
    Bytes end = 0;
    Term term = 0;
    std::int32_t storage = -1;  // a persistent place, whose terms are in slots_
  };

  void remove(const Place& place);
  const Range* find(const Place& place) const;

  std::span<const PersistentPlace> persistents_;
  std::map<Bytes, Range> ranges_;  // by first byte; disjoint
  std::vector<SlotTerms> slots_;   // by persistent place: what was written in this phase
  std::vector<Write> writes_;
};

}  // namespace thimble
