// ResNet-18 (He et al. 2016). For inputs under 64 pixels the usual small-image stem: 3x3, stride 1, no pooling.
#include "models/networks.h"

namespace thimble {
namespace {

ValueId basic_block(Network& net, ValueId x, const std::string& name, std::int64_t channels, std::int64_t stride,
                    Network::Norm norm) {
  ValueId y = net.conv(x, name + ".conv1", {.channels = channels, .stride = stride});
  y = net.relu(net.norm(y, name + ".bn1", norm), name + ".relu1");
  y = net.norm(net.conv(y, name + ".conv2", {.channels = channels}), name + ".bn2", norm);
  ValueId shortcut = x;
  if (stride != 1 || net.channels(x) != channels) {
    shortcut = net.conv(x, name + ".downsample.0", {.channels = channels, .kernel = 1, .stride = stride, .padding = 0});
    shortcut = net.norm(shortcut, name + ".downsample.1", norm);
  }
  return net.relu(net.add(y, shortcut, name + ".sum"), name + ".relu2");
}

}  // namespace

Model build_resnet18(const ModelSpec& spec, OpTable ops, Network::Norm norm) {
  Network net(spec, ops);
  const bool is_small = spec.sample[0] < 64;
  ValueId x = is_small ? net.conv(net.images(), "conv1", {.channels = 64})
                       : net.conv(net.images(), "conv1", {.channels = 64, .kernel = 7, .stride = 2, .padding = 3});
  x = net.relu(net.norm(x, "bn1", norm), "relu");
  if (!is_small) x = net.max_pool(x, 3, 2, 1, "maxpool");
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    for (std::int64_t index = 0; index < 2; ++index) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(index);
      x = basic_block(net, x, name, 64 << stage, stage > 0 && index == 0 ? 2 : 1, norm);
    }
  }
  x = net.dropout(net.global_pool(x, "avgpool"), "dropout");
  return net.finish(net.linear(x, "fc", spec.classes));
}

}  // namespace thimble
