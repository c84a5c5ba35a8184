// LeNet-300-100 (LeCun et al. 1998): two hidden layers, the classic bench of pruning papers.
#include "models/networks.h"

namespace thimble {

Model build_lenet_300_100(const ModelSpec& spec, OpTable ops) {
  Network net(spec, ops);
  ValueId x = net.flatten(net.images(), "flat");
  x = net.dropout(net.relu(net.linear(x, "fc1", 300, true), "relu1"), "dropout1");
  x = net.dropout(net.relu(net.linear(x, "fc2", 100, true), "relu2"), "dropout2");
  return net.finish(net.linear(x, "fc3", spec.classes, true));
}

}  // namespace thimble
