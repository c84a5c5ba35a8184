// MobileNetV2 (Sandler et al. 2018): inverted residuals. A 1x1 convolution widens, a depthwise 3x3 one looks around,
// a 1x1 one narrows without an activation; equal ends are added.
#include <algorithm>

#include "base/error.h"
#include "models/networks.h"

namespace thimble {
namespace {

constexpr std::string_view kName = "mobilenetv2";

struct Stage {
  std::int64_t expansion, channels, blocks, stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

ValueId inverted_residual(Network& net, ValueId x, const std::string& name, std::int64_t expansion,
                          std::int64_t channels, std::int64_t stride, Network::Norm norm) {
  std::int64_t part = 0;
  const auto next = [&] { return name + ".conv." + std::to_string(part++); };
  const std::int64_t inputs = net.channels(x);
  ValueId y = x;
  if (expansion != 1) {
    const std::string widen = next();
    y = net.conv(y, widen + ".0", {.channels = expansion * inputs, .kernel = 1, .sparse_candidate = true});
    y = net.relu6(net.norm(y, widen + ".1", norm), widen + ".2");
  }
  const std::string look = next();
  y = net.relu6(net.norm(net.depthwise(y, look + ".0", {.stride = stride}), look + ".1", norm), look + ".2");
  y = net.conv(y, next(), {.channels = channels, .kernel = 1, .sparse_candidate = true});
  y = net.norm(y, next(), norm);
  return stride == 1 && inputs == channels ? net.add(x, y, name + ".sum") : y;
}

Model build(const ModelSpec& spec, OpTable ops, std::string_view base, Network::Norm norm) {
  const double width = *width_behind(base, kName);
  require(width >= 0.05 && width <= 8, kName, ": found width multiplier ", width, ", wanted 0.05 to 8");
  Network net(spec, ops);
  const auto scaled = [&](std::int64_t channels) { return scaled_channels(width * static_cast<double>(channels)); };
  ValueId x = net.conv(net.images(), "features.0.0", {.channels = scaled(32), .stride = 2});
  x = net.relu6(net.norm(x, "features.0.1", norm), "features.0.2");
  std::int64_t index = 0;
  for (const Stage& stage : kStages) {
    for (std::int64_t i = 0; i < stage.blocks; ++i) {
      const std::string name = "features." + std::to_string(++index);
      x = inverted_residual(net, x, name, stage.expansion, scaled(stage.channels), i == 0 ? stage.stride : 1, norm);
    }
  }
  // The last layer is not narrowed: it would be too little for a thousand classes.
  const std::string last = "features." + std::to_string(++index);
  x = net.conv(x, last + ".0", {.channels = scaled_channels(1280 * std::max(1.0, width)), .kernel = 1});
  x = net.relu6(net.norm(x, last + ".1", norm), last + ".2");
  x = net.dropout(net.global_pool(x, "avgpool"), "classifier.0");
  return net.finish(net.linear(x, "classifier.1", spec.classes));
}

}  // namespace

const NetworkDef kMobileNetV2 = {.pattern = "mobilenetv2[-<width>][-gn]",
                                 .summary = "MobileNetV2 with a width multiplier, as in mobilenetv2-0.35",
                                 .example = "mobilenetv2",
                                 .sample = {224, 224, 3},
                                 .classes = 1000,
                                 .knows = [](std::string_view base) { return width_behind(base, kName).has_value(); },
                                 .build = build};

}  // namespace thimble
