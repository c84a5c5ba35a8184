// VGG-11, -13, -16 and -19 (Simonyan and Zisserman 2015). Published without norms; -bn and -gn put one before every
// ReLU. Images under 64 pixels get one linear layer behind the convolutions, as is usual for them, larger ones the
// paper's three.
#include "models/networks.h"

namespace thimble {
namespace {

struct Depth {
  std::int64_t depth = 0;
  std::int64_t convolutions[5] = {};  // of 64, 128, 256, 512, 512 channels, each stage ended by a pool
};
constexpr Depth kDepths[] = {
    {11, {1, 1, 2, 2, 2}}, {13, {2, 2, 2, 2, 2}}, {16, {2, 2, 3, 3, 3}}, {19, {2, 2, 4, 4, 4}}};
constexpr std::int64_t kChannels[] = {64, 128, 256, 512, 512};

const Depth* find_depth(std::string_view base) {
  const auto number = number_behind(base, "vgg");
  for (const Depth& depth : kDepths) {
    if (number && depth.depth == *number) return &depth;
  }
  return nullptr;
}

Model build(const ModelSpec& spec, OpTable ops, std::string_view base, Network::Norm norm) {
  Network net(spec, ops);
  std::int64_t part = 0;  // layers count on in PyTorch's names, pools and activations included
  const auto next = [&] { return "features." + std::to_string(part++); };
  ValueId x = net.images();
  for (std::size_t stage = 0; stage < 5; ++stage) {
    for (std::int64_t i = 0; i < find_depth(base)->convolutions[stage]; ++i) {
      x = net.conv(x, next(), {.channels = kChannels[stage], .bias = true, .sparse_candidate = true});
      if (norm != Network::Norm::none) x = net.norm(x, next(), norm);
      x = net.relu(x, next());
    }
    x = net.max_pool(x, 2, 2, 0, next());
  }
  x = net.flatten_by_channel(x, "flat");
  if (spec.sample[0] < 64) return net.finish(net.linear(net.dropout(x, "dropout"), "classifier", spec.classes));
  x = net.dropout(net.relu(net.linear(x, "classifier.0", 4096, true), "classifier.1"), "classifier.2");
  x = net.dropout(net.relu(net.linear(x, "classifier.3", 4096, true), "classifier.4"), "classifier.5");
  return net.finish(net.linear(x, "classifier.6", spec.classes));
}

}  // namespace

const NetworkDef kVgg = {.pattern = "vgg<11|13|16|19>[-bn|-gn]",
                         .summary = "VGG, without norms unless asked for; one linear layer under 64 pixels",
                         .example = "vgg16",
                         .sample = {224, 224, 3},
                         .classes = 1000,
                         .norm = Network::Norm::none,
                         .knows = [](std::string_view base) { return find_depth(base) != nullptr; },
                         .build = build};

}  // namespace thimble
