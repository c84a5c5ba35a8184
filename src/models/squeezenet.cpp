// SqueezeNet 1.0 and 1.1 (Iandola et al. 2016): fire modules, a 1x1 convolution that squeezes before 1x1 and 3x3 ones
// that expand side by side. Published without norms; -bn and -gn put one before every ReLU.
#include "models/networks.h"

namespace thimble {
namespace {

struct Fire {
  std::int64_t squeeze, expand;
};
constexpr Fire kFires[] = {{16, 64}, {16, 64}, {32, 128}, {32, 128}, {48, 192}, {48, 192}, {64, 256}, {64, 256}};

// Which fires (from 0) a pool follows; the layers count on in PyTorch's names.
struct Version {
  std::int64_t channels, kernel;
  bool pools_after[8];
};
constexpr Version kOne = {96, 7, {false, false, true, false, false, false, true, false}};
constexpr Version kOneOne = {64, 3, {false, true, false, true, false, false, false, false}};

ValueId activated(Network& net, ValueId x, const std::string& name, Network::Norm norm) {
  return net.relu(net.norm(x, name + "_norm", norm), name + "_activation");
}

ValueId fire(Network& net, ValueId x, const std::string& name, const Fire& fire, Network::Norm norm) {
  x = net.conv(x, name + ".squeeze", {.channels = fire.squeeze, .kernel = 1, .bias = true});
  x = activated(net, x, name + ".squeeze", norm);
  const ValueId one = net.conv(x, name + ".expand1x1", {.channels = fire.expand, .kernel = 1, .bias = true});
  const ValueId three = net.conv(x, name + ".expand3x3", {.channels = fire.expand, .bias = true});
  return net.concat({activated(net, one, name + ".expand1x1", norm), activated(net, three, name + ".expand3x3", norm)},
                    name + ".concat");
}

Model build(const ModelSpec& spec, OpTable ops, std::string_view base, Network::Norm norm) {
  const Version& version = base == "squeezenet1_0" ? kOne : kOneOne;
  Network net(spec, ops);
  // Small images keep their size: three pools would leave nothing of 32 pixels behind a stride-two stem.
  const bool is_small = spec.sample[0] < 64;
  ValueId x = net.conv(net.images(), "features.0",
                       {.channels = version.channels,
                        .kernel = is_small ? 3 : version.kernel,
                        .stride = is_small ? 1 : 2,
                        .padding = is_small ? 1 : 0,
                        .bias = true});
  x = net.max_pool(activated(net, x, "features.0", norm), 3, 2, 0, "features.2", true);
  std::int64_t layer = 3;
  for (std::size_t i = 0; i < std::size(kFires); ++i) {
    x = fire(net, x, "features." + std::to_string(layer++), kFires[i], norm);
    if (version.pools_after[i]) x = net.max_pool(x, 3, 2, 0, "features." + std::to_string(layer++), true);
  }
  x = net.dropout(x, "classifier.0");
  x = net.conv(x, "classifier.1", {.channels = spec.classes, .kernel = 1, .bias = true});
  x = net.global_pool(activated(net, x, "classifier.1", Network::Norm::none), "classifier.3");
  return net.finish(x);
}

}  // namespace

const NetworkDef kSqueezeNet = {
    .pattern = "squeezenet<1_0|1_1>[-bn|-gn]",
    .summary = "SqueezeNet 1.0 or 1.1, without norms unless asked for",
    .example = "squeezenet1_1",
    .sample = {224, 224, 3},
    .classes = 1000,
    .norm = Network::Norm::none,
    .knows = [](std::string_view base) { return base == "squeezenet1_0" || base == "squeezenet1_1"; },
    .build = build};

}  // namespace thimble
