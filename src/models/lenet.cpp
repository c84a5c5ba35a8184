// LeNet-300-100 (LeCun et al. 1998): two hidden layers, the classic bench of pruning papers.
#include "models/networks.h"

namespace thimble {
namespace {

Model build(const ModelSpec& spec, OpTable ops, std::string_view, Network::Norm) {
  Network net(spec, ops);
  ValueId x = net.flatten(net.images(), "flat");
  x = net.dropout(net.relu(net.linear(x, "fc1", 300, true), "relu1"), "dropout1");
  x = net.dropout(net.relu(net.linear(x, "fc2", 100, true), "relu2"), "dropout2");
  return net.finish(net.linear(x, "fc3", spec.classes, true));
}

}  // namespace

const NetworkDef kLeNet = {.pattern = "lenet-300-100",
                           .summary = "two hidden layers of 300 and 100 units",
                           .example = "lenet-300-100",
                           .sample = {28, 28, 1},
                           .norm = Network::Norm::none,
                           .has_norms = false,
                           .knows = [](std::string_view base) { return base == "lenet-300-100"; },
                           .build = build};

}  // namespace thimble
