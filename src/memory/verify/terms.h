// What memory must hold, as terms: a value's term names the whole computation that leads to it, so two ranges with
// equal terms hold equal bits. Worked out from the Training and the list of persistent places alone.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "memory/plan.h"

namespace thimble {

using Term = std::uint64_t;

// A persistent place holds one term a slot; one that is no pool has slot 0 alone. A slot that is missing holds what it
// held before the phase.
using SlotTerms = std::map<int, Term>;

// Version 0 of what a persistent place holds in a slot.
Term term_before(const PersistentPlace& persistent, int slot);

struct Demands {
  std::vector<Term> terms;            // by value
  std::vector<std::int32_t> storage;  // by value: index of the persistent place it must lie on; -1: a transient
  std::vector<SlotTerms> at_end;      // by persistent place: last versions
  std::string fault;                  // not empty: the Training asks for a storage that the plan does not have
};

Demands demands_of(const Graph& graph, std::span<const PersistentPlace> persistents);

// Where in its storage a value lies.
inline int slot_of(const Value& value) { return value.type.layout == Layout::pooled ? value.slot : 0; }

}  // namespace thimble
