// An order of the nodes for a small peak: forward as the model was written, backward by what frees most.
#pragma once

#include <vector>

#include "select/select.h"

namespace thimble {

// Respects data and the rule that an update comes after every reader of what it overwrites.
std::vector<NodeId> order_nodes(const Selected& selected);

}  // namespace thimble
