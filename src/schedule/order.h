// An order of the nodes for a small peak: forward as the model was written, backward by what frees most.
#pragma once

#include <vector>

#include "select/select.h"

namespace thimble {

// By node: whether it depends on one that ends the first pass (OpDef::ends_first_pass). Such nodes, updates all of
// them, come after all others.
std::vector<bool> second_pass_nodes(const Graph& graph);

// Respects data and the rule that an update comes after every reader of what it overwrites.
std::vector<NodeId> order_nodes(const Selected& selected);

}  // namespace thimble
