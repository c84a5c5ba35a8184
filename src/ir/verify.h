// Is this a well-formed graph? Run after every pass that changed something, in release builds too.
#pragma once

#include "ir/graph.h"

namespace thimble {

// InternalError if types do not follow from the ops, attributes are incomplete, nodes form a cycle, a persistent value
// has two next versions, or something but an update reads an updated version.
void verify(const Graph& graph);

}  // namespace thimble
