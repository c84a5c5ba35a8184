// What a kernel is asked for, as a text: two uses that read alike take the same time.
#pragma once

#include <string>

#include "select/select.h"

namespace thimble {

std::string_view kernel_name(const Choice& choice);  // "reference" where the op's own loops serve

// Kernel, types and attributes: "conv2d f32[8,4,4,3] f32[3,3,3,16] -> f32[8,4,4,16] {padding=1, stride=1}". Random keys
// are left out: they change numbers, not work.
std::string use_text(const Choice& choice, const Node& node, const Graph::NodeTypes& types);

}  // namespace thimble
