// Which operands of one step may lie on the same bytes.
#pragma once

#include <optional>
#include <string>

#include "memory/plan.h"

namespace thimble {

std::string range_text(const Place& place);  // "bytes [64, 128)"

// Nothing if outputs and workspace touch no input and not each other, except where the op declares it: a view lies on
// its input, an output of an in-place pair may lie exactly on its input, and for an update it must. `step` has as many
// places as `node` has operands.
std::optional<std::string> find_sharing_fault(const Graph& graph, const Node& node, const PlannedStep& step);

}  // namespace thimble
