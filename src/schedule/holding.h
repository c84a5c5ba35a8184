// What a schedule has in memory when: a mode for every value, and exceptions.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace thimble {

// What becomes of a value that a later part of the phase reads. The parts are forward, backward and, where updates wait
// for the norm of all gradients, what comes behind that norm: there gradients are such values too.
enum class Keep : std::uint8_t {
  keep,    // stays in memory until its last use
  retain,  // dropped at the end of each part, recomputed when the next one first needs it, then stays to that one's end
  transient,  // dropped after the part that made it, recomputed for every single use
  spill,  // stored in the spill file by the part that made it, loaded when a later one first needs it, then stays to
          // its end
};

// An exception to a value's mode: whether it stays in memory after the original step of node `after`, which touched it
// (or for which something was recomputed from it), until it is wanted again.
struct Gap {
  ValueId value;
  NodeId after;
  bool is_held = false;

  friend auto operator<=>(const Gap&, const Gap&) = default;
};

// What is in memory when: a mode for every value and exceptions, sorted by value, then by `after`.
struct Holding {
  std::vector<Keep> keep;  // by value
  std::vector<Gap> gaps = {};

  Keep& mode(ValueId value) { return keep[static_cast<std::size_t>(value.index)]; }
  Keep mode(ValueId value) const { return keep[static_cast<std::size_t>(value.index)]; }
  const Gap* find(ValueId value, NodeId after) const;  // null: there is no exception
  void set(const Gap& gap);                            // adds an exception or changes it
  void set_mode(ValueId value, Keep mode);             // without exceptions: those were made for another mode

  friend bool operator==(const Holding&, const Holding&) = default;
};

}  // namespace thimble
