// ResNet for small images (He et al. 2016, section 4.2): a 3x3 stem of 16 channels and three stages of (d-2)/6 blocks
// with 16, 32 and 64 channels. Shortcuts have no parameters: between stages every other place is taken and the new
// channels are zeros, half of them before and half behind the old ones.
#include "base/error.h"
#include "models/networks.h"

namespace thimble {
namespace {

constexpr std::int64_t kMostDepth = 1202;  // the deepest of the paper; a typo must not fill the memory

// Depths that the ResNets for large images own are theirs: 50 and 152 are 6n + 2 as well.
bool knows(std::string_view base) { return number_behind(base, "resnet").has_value() && !kResNet.knows(base); }

ValueId block(Network& net, ValueId x, const std::string& name, std::int64_t channels, std::int64_t stride,
              Network::Norm norm) {
  ValueId y = net.conv(x, name + ".conv1", {.channels = channels, .stride = stride});
  y = net.relu(net.norm(y, name + ".bn1", norm), name + ".relu1");
  y = net.norm(net.conv(y, name + ".conv2", {.channels = channels}), name + ".bn2", norm);
  if (stride != 1) {
    const std::int64_t added = channels - net.channels(x);
    x = net.avg_pool(x, 1, stride, name + ".subsample");
    x = net.pad_channels(x, added / 2, added - added / 2, name + ".shortcut");
  }
  return net.relu(net.add(y, x, name + ".sum"), name + ".relu2");
}

Model build(const ModelSpec& spec, OpTable ops, std::string_view base, Network::Norm norm) {
  const std::int64_t depth = *number_behind(base, "resnet");
  require(depth >= 8 && depth <= kMostDepth && (depth - 2) % 6 == 0, "resnet: found depth ", depth,
          ", wanted 18, 34, 50, 101 or 152, or 6n + 2 such as 20, 32, 56, 110 or 1202 for small images");
  Network net(spec, ops);
  ValueId x = net.conv(net.images(), "conv1", {.channels = 16});
  x = net.relu(net.norm(x, "bn1", norm), "relu");
  for (std::int64_t stage = 0; stage < 3; ++stage) {
    for (std::int64_t index = 0; index < (depth - 2) / 6; ++index) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(index);
      x = block(net, x, name, 16 << stage, stage > 0 && index == 0 ? 2 : 1, norm);
    }
  }
  x = net.dropout(net.global_pool(x, "avgpool"), "dropout");
  return net.finish(net.linear(x, "linear", spec.classes));
}

}  // namespace

const NetworkDef kSmallResNet = {.pattern = "resnet<6n+2>[-gn]",
                                 .summary = "ResNet for small images, as ResNet-110 and ResNet-1202",
                                 .example = "resnet110",
                                 .sample = {32, 32, 3},
                                 .knows = knows,
                                 .build = build};

}  // namespace thimble
