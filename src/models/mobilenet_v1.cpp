// MobileNet (Howard et al. 2017): thirteen pairs of a depthwise 3x3 and a 1x1 convolution.
#include "base/error.h"
#include "models/networks.h"

namespace thimble {
namespace {

constexpr std::string_view kName = "mobilenetv1";

struct Layer {
  std::int64_t channels = 0;
  std::int64_t stride = 1;
};
constexpr Layer kLayers[] = {{64},  {128, 2}, {128}, {256, 2}, {256},     {512, 2}, {512},
                             {512}, {512},    {512}, {512},    {1024, 2}, {1024}};

Model build(const ModelSpec& spec, OpTable ops, std::string_view base, Network::Norm norm) {
  const double width = *width_behind(base, kName);
  require(width >= 0.05 && width <= 8, kName, ": found width multiplier ", width, ", wanted 0.05 to 8");
  Network net(spec, ops);
  const auto scaled = [&](std::int64_t channels) { return scaled_channels(width * static_cast<double>(channels)); };
  const auto layer = [&](ValueId x, const std::string& name) { return net.relu(x, name); };
  ValueId x = net.conv(net.images(), "model.0.0", {.channels = scaled(32), .stride = 2});
  x = layer(net.norm(x, "model.0.1", norm), "model.0.2");
  std::int64_t index = 0;
  for (const Layer& pair : kLayers) {
    const std::string name = "model." + std::to_string(++index);
    x = layer(net.norm(net.depthwise(x, name + ".0", {.stride = pair.stride}), name + ".1", norm), name + ".2");
    x = net.conv(x, name + ".3", {.channels = scaled(pair.channels), .kernel = 1, .sparse_candidate = true});
    x = layer(net.norm(x, name + ".4", norm), name + ".5");
  }
  x = net.dropout(net.global_pool(x, "avgpool"), "dropout");
  return net.finish(net.linear(x, "fc", spec.classes));
}

}  // namespace

const NetworkDef kMobileNetV1 = {.pattern = "mobilenetv1[-<width>][-gn]",
                                 .summary = "MobileNet with a width multiplier, as in mobilenetv1-0.25",
                                 .example = "mobilenetv1",
                                 .sample = {224, 224, 3},
                                 .classes = 1000,
                                 .knows = [](std::string_view base) { return width_behind(base, kName).has_value(); },
                                 .build = build};

}  // namespace thimble
