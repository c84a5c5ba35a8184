// WideResNet-d-k for small images (Zagoruyko and Komodakis 2016), pre-activation, as in the
// dynamic-sparse-reparameterization study: a 3x3 stem of 16 channels, three stages of (d-4)/6 blocks with 16k, 32k, 64k
// channels, norm and ReLU before each convolution, a 1x1 shortcut taken after the first norm and ReLU of a stage.
#include "base/error.h"
#include "models/networks.h"

namespace thimble {
namespace {

constexpr std::int64_t kMostDepth =
    1000;  // about what was ever trained of this family; a typo must not fill the memory

ValueId block(Network& net, ValueId x, const std::string& name, std::int64_t channels, std::int64_t stride,
              Network::Norm norm) {
  const ValueId a1 = net.relu(net.norm(x, name + ".bn1", norm), name + ".relu1");
  const ValueId c1 = net.conv(a1, name + ".conv1", {.channels = channels, .stride = stride, .sparse_candidate = true});
  ValueId a2 = net.relu(net.norm(c1, name + ".bn2", norm), name + ".relu2");
  a2 = net.dropout(a2, name + ".dropout");
  const ValueId c2 = net.conv(a2, name + ".conv2", {.channels = channels, .sparse_candidate = true});
  const bool same = net.channels(x) == channels && stride == 1;
  const ValueId shortcut =
      same ? x : net.conv(a1, name + ".convShortcut", {.channels = channels, .kernel = 1, .stride = stride});
  return net.add(c2, shortcut, name + ".sum");
}

struct Numbers {
  std::int64_t depth = 0;
  std::int64_t width = 0;
};

// "wrn28-2" or "wrn-28-2"
std::optional<Numbers> parse(std::string_view base) {
  if (!base.starts_with("wrn")) return std::nullopt;
  base.remove_prefix(3);
  if (base.starts_with("-")) base.remove_prefix(1);
  const std::size_t dash = base.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto depth = number_behind(base.substr(0, dash), ""), width = number_behind(base.substr(dash + 1), "");
  if (!depth || !width) return std::nullopt;
  return Numbers{*depth, *width};
}

Model build(const ModelSpec& spec, OpTable ops, std::string_view base, Network::Norm norm) {
  const auto [depth, width] = *parse(base);
  require(depth >= 10 && depth <= kMostDepth && (depth - 4) % 6 == 0, "wrn: found depth ", depth,
          ", wanted 6n + 4 such as 10, 16, 22, 28 or 40, at most ", kMostDepth);
  require(width >= 1 && width <= 64, "wrn: found width ", width, ", wanted 1 to 64");
  Network net(spec, ops);
  const std::int64_t blocks = (depth - 4) / 6;
  ValueId x = net.conv(net.images(), "conv1", {.channels = 16});
  for (std::int64_t stage = 0; stage < 3; ++stage) {
    for (std::int64_t index = 0; index < blocks; ++index) {
      const std::string name = "block" + std::to_string(stage + 1) + ".layer." + std::to_string(index);
      x = block(net, x, name, (16 << stage) * width, stage > 0 && index == 0 ? 2 : 1, norm);
    }
  }
  x = net.relu(net.norm(x, "bn1", norm), "relu");
  return net.finish(net.linear(net.global_pool(x, "pool"), "fc", spec.classes));
}

}  // namespace

const NetworkDef kWideResNet = {.pattern = "wrn<d>-<k>[-gn]",
                                .summary = "WideResNet of depth d and width k for small images, batch or group norm",
                                .example = "wrn28-2",
                                .sample = {32, 32, 3},
                                .knows = [](std::string_view base) { return parse(base).has_value(); },
                                .build = build};

}  // namespace thimble
