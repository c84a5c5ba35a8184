// ShuffleNetV2 (Ma et al. 2018): half of the channels pass, the other half is worked on, then both are shuffled.
#include "models/networks.h"

namespace thimble {
namespace {

struct Width {
  std::string_view base;
  std::int64_t stages[3];
  std::int64_t last;
};
constexpr Width kWidths[] = {{"shufflenetv2-0.5", {48, 96, 192}, 1024},
                             {"shufflenetv2", {116, 232, 464}, 1024},
                             {"shufflenetv2-1.0", {116, 232, 464}, 1024},
                             {"shufflenetv2-1.5", {176, 352, 704}, 1024},
                             {"shufflenetv2-2.0", {244, 488, 976}, 2048}};
constexpr std::int64_t kBlocks[] = {4, 8, 4};

const Width* find_width(std::string_view base) {
  for (const Width& width : kWidths) {
    if (width.base == base) return &width;
  }
  return nullptr;
}

ValueId pointwise(Network& net, ValueId x, const std::string& name, std::int64_t first, std::int64_t channels,
                  Network::Norm norm) {
  const auto part = [&](std::int64_t i) { return name + "." + std::to_string(first + i); };
  x = net.conv(x, part(0), {.channels = channels, .kernel = 1, .sparse_candidate = true});
  return net.relu(net.norm(x, part(1), norm), part(2));
}

ValueId depthwise(Network& net, ValueId x, const std::string& name, std::int64_t first, std::int64_t stride,
                  Network::Norm norm) {
  x = net.depthwise(x, name + "." + std::to_string(first), {.stride = stride});
  return net.norm(x, name + "." + std::to_string(first + 1), norm);
}

ValueId worked(Network& net, ValueId x, const std::string& name, std::int64_t channels, std::int64_t stride,
               Network::Norm norm) {
  x = pointwise(net, x, name, 0, channels, norm);
  return pointwise(net, depthwise(net, x, name, 3, stride, norm), name, 5, channels, norm);
}

// At stride two both halves are worked on and start from all channels.
ValueId unit(Network& net, ValueId x, const std::string& name, std::int64_t channels, std::int64_t stride,
             Network::Norm norm) {
  const std::int64_t half = channels / 2;
  ValueId passed, other;
  if (stride == 1) {
    passed = net.channels_of(x, 0, half, name + ".passed");
    other = net.channels_of(x, half, channels, name + ".other");
  } else {
    passed = pointwise(net, depthwise(net, x, name + ".branch1", 0, stride, norm), name + ".branch1", 2, half, norm);
    other = x;
  }
  other = worked(net, other, name + ".branch2", half, stride, norm);
  return net.shuffle(net.concat({passed, other}, name + ".concat"), 2, name + ".shuffle");
}

Model build(const ModelSpec& spec, OpTable ops, std::string_view base, Network::Norm norm) {
  const Width& width = *find_width(base);
  Network net(spec, ops);
  const bool is_small = spec.sample[0] < 64;  // no stride and no pool before the first stage, as for ResNets
  ValueId x = net.conv(net.images(), "conv1.0", {.channels = 24, .stride = is_small ? 1 : 2});
  x = net.relu(net.norm(x, "conv1.1", norm), "conv1.2");
  if (!is_small) x = net.max_pool(x, 3, 2, 1, "maxpool");
  for (std::int64_t stage = 0; stage < 3; ++stage) {
    for (std::int64_t index = 0; index < kBlocks[stage]; ++index) {
      const std::string name = "stage" + std::to_string(stage + 2) + "." + std::to_string(index);
      x = unit(net, x, name, width.stages[stage], index == 0 ? 2 : 1, norm);
    }
  }
  x = net.conv(x, "conv5.0", {.channels = width.last, .kernel = 1});
  x = net.relu(net.norm(x, "conv5.1", norm), "conv5.2");
  x = net.dropout(net.global_pool(x, "avgpool"), "dropout");
  return net.finish(net.linear(x, "fc", spec.classes));
}

}  // namespace

const NetworkDef kShuffleNetV2 = {.pattern = "shufflenetv2[-0.5|-1.0|-1.5|-2.0][-gn]",
                                  .summary = "ShuffleNetV2 in its four published widths",
                                  .example = "shufflenetv2",
                                  .sample = {224, 224, 3},
                                  .classes = 1000,
                                  .knows = [](std::string_view base) { return find_width(base) != nullptr; },
                                  .build = build};

}  // namespace thimble
