// ResNet (He et al. 2016) of depth 18, 34, 50, 101 and 152. For inputs under 64 pixels the usual small-image stem: 3x3,
// stride 1, no pooling. The bottleneck's stride lies on its 3x3 convolution, as everybody trains it.
#include <algorithm>

#include "models/networks.h"

namespace thimble {
namespace {

struct Depth {
  std::int64_t depth = 0;
  std::int64_t blocks[4] = {};
  bool has_bottleneck = false;
};

constexpr Depth kDepths[] = {{18, {2, 2, 2, 2}, false},
                             {34, {3, 4, 6, 3}, false},
                             {50, {3, 4, 6, 3}, true},
                             {101, {3, 4, 23, 3}, true},
                             {152, {3, 8, 36, 3}, true}};

const Depth* find_depth(std::string_view base) {
  const auto number = number_behind(base, "resnet");
  const auto found = std::find_if(std::begin(kDepths), std::end(kDepths),
                                  [&](const Depth& depth) { return number && depth.depth == *number; });
  return found == std::end(kDepths) ? nullptr : found;
}

ValueId shortcut_of(Network& net, ValueId x, const std::string& name, std::int64_t channels, std::int64_t stride,
                    Network::Norm norm) {
  if (stride == 1 && net.channels(x) == channels) return x;
  x = net.conv(x, name + ".downsample.0", {.channels = channels, .kernel = 1, .stride = stride});
  return net.norm(x, name + ".downsample.1", norm);
}

ValueId basic_block(Network& net, ValueId x, const std::string& name, std::int64_t channels, std::int64_t stride,
                    Network::Norm norm) {
  ValueId y = net.conv(x, name + ".conv1", {.channels = channels, .stride = stride});
  y = net.relu(net.norm(y, name + ".bn1", norm), name + ".relu1");
  y = net.norm(net.conv(y, name + ".conv2", {.channels = channels}), name + ".bn2", norm);
  const ValueId shortcut = shortcut_of(net, x, name, channels, stride, norm);
  return net.relu(net.add(y, shortcut, name + ".sum"), name + ".relu2");
}

ValueId bottleneck(Network& net, ValueId x, const std::string& name, std::int64_t channels, std::int64_t stride,
                   Network::Norm norm) {
  ValueId y = net.conv(x, name + ".conv1", {.channels = channels, .kernel = 1});
  y = net.relu(net.norm(y, name + ".bn1", norm), name + ".relu1");
  y = net.conv(y, name + ".conv2", {.channels = channels, .stride = stride});
  y = net.relu(net.norm(y, name + ".bn2", norm), name + ".relu2");
  y = net.norm(net.conv(y, name + ".conv3", {.channels = 4 * channels, .kernel = 1}), name + ".bn3", norm);
  const ValueId shortcut = shortcut_of(net, x, name, 4 * channels, stride, norm);
  return net.relu(net.add(y, shortcut, name + ".sum"), name + ".relu3");
}

Model build(const ModelSpec& spec, OpTable ops, std::string_view base, Network::Norm norm) {
  const Depth& depth = *find_depth(base);
  Network net(spec, ops);
  const bool is_small = spec.sample[0] < 64;
  ValueId x = is_small ? net.conv(net.images(), "conv1", {.channels = 64})
                       : net.conv(net.images(), "conv1", {.channels = 64, .kernel = 7, .stride = 2});
  x = net.relu(net.norm(x, "bn1", norm), "relu");
  if (!is_small) x = net.max_pool(x, 3, 2, 1, "maxpool");
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    for (std::int64_t index = 0; index < depth.blocks[stage]; ++index) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(index);
      const auto block = depth.has_bottleneck ? bottleneck : basic_block;
      x = block(net, x, name, 64 << stage, stage > 0 && index == 0 ? 2 : 1, norm);
    }
  }
  x = net.dropout(net.global_pool(x, "avgpool"), "dropout");
  return net.finish(net.linear(x, "fc", spec.classes));
}

}  // namespace

const NetworkDef kResNet = {.pattern = "resnet<18|34|50|101|152>[-gn]",
                            .summary = "ResNet; small-image stem under 64 pixels, 7x7 stem and max pool from there on",
                            .example = "resnet50",
                            .sample = {224, 224, 3},
                            .classes = 1000,
                            .knows = [](std::string_view base) { return find_depth(base) != nullptr; },
                            .build = build};

}  // namespace thimble
