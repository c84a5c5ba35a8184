// Shared by the activation-fusing passes: a rectifier that is the only reader of a node's output becomes that node's
// epilogue.
#pragma once

#include <span>
#include <string_view>

#include "ir/graph.h"

namespace thimble {

bool fuse_activation(Graph& graph, std::span<const std::string_view> producers);

}  // namespace thimble
