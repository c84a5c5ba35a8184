// The built-in networks, one function each.
#pragma once

#include "models/network.h"

namespace thimble {

Model build_wide_resnet(const ModelSpec& spec, OpTable ops, std::int64_t depth, std::int64_t width, Network::Norm norm);
Model build_resnet18(const ModelSpec& spec, OpTable ops, Network::Norm norm);
Model build_lenet_300_100(const ModelSpec& spec, OpTable ops);

}  // namespace thimble
