// DenseNet-121, -169 and -201 (Huang et al. 2017): every layer adds 32 channels to what all layers before it have made.
#include "models/networks.h"

namespace thimble {
namespace {

constexpr std::int64_t kGrowth = 32;

struct Depth {
  std::string_view base;
  std::int64_t layers[4];
};
constexpr Depth kDepths[] = {
    {"densenet121", {6, 12, 24, 16}}, {"densenet169", {6, 12, 32, 32}}, {"densenet201", {6, 12, 48, 32}}};

const Depth* find_depth(std::string_view base) {
  for (const Depth& depth : kDepths) {
    if (depth.base == base) return &depth;
  }
  return nullptr;
}

// Growing one concatenation lets backward carry one gradient down the block instead of one for each pair of layers.
ValueId layer(Network& net, ValueId x, const std::string& name, Network::Norm norm) {
  ValueId y = net.relu(net.norm(x, name + ".norm1", norm), name + ".relu1");
  y = net.conv(y, name + ".conv1", {.channels = 4 * kGrowth, .kernel = 1, .sparse_candidate = true});
  y = net.relu(net.norm(y, name + ".norm2", norm), name + ".relu2");
  y = net.conv(y, name + ".conv2", {.channels = kGrowth, .sparse_candidate = true});
  return net.concat({x, net.dropout(y, name + ".dropout")}, name + ".concat");
}

ValueId transition(Network& net, ValueId x, const std::string& name, Network::Norm norm) {
  x = net.relu(net.norm(x, name + ".norm", norm), name + ".relu");
  x = net.conv(x, name + ".conv", {.channels = net.channels(x) / 2, .kernel = 1});
  return net.avg_pool(x, 2, 2, name + ".pool");
}

Model build(const ModelSpec& spec, OpTable ops, std::string_view base, Network::Norm norm) {
  const Depth& depth = *find_depth(base);
  Network net(spec, ops);
  const bool is_small = spec.sample[0] < 64;  // no stride and no pool before the first block, as for ResNets
  ValueId x = net.conv(net.images(), "features.conv0",
                       {.channels = 64, .kernel = is_small ? 3 : 7, .stride = is_small ? 1 : 2});
  x = net.relu(net.norm(x, "features.norm0", norm), "features.relu0");
  if (!is_small) x = net.max_pool(x, 3, 2, 1, "features.pool0");
  for (std::int64_t block = 0; block < 4; ++block) {
    const std::string number = std::to_string(block + 1);
    for (std::int64_t index = 0; index < depth.layers[block]; ++index) {
      x = layer(net, x, "features.denseblock" + number + ".denselayer" + std::to_string(index + 1), norm);
    }
    if (block < 3) x = transition(net, x, "features.transition" + number, norm);
  }
  x = net.relu(net.norm(x, "features.norm5", norm), "features.relu5");
  return net.finish(net.linear(net.global_pool(x, "avgpool"), "classifier", spec.classes));
}

}  // namespace

const NetworkDef kDenseNet = {.pattern = "densenet<121|169|201>[-gn]",
                              .summary = "DenseNet with 32 channels a layer; small-image stem under 64 pixels",
                              .example = "densenet121",
                              .sample = {224, 224, 3},
                              .classes = 1000,
                              .knows = [](std::string_view base) { return find_depth(base) != nullptr; },
                              .build = build};

}  // namespace thimble
