// U-Net (Ronneberger et al. 2015), in the form everybody trains: padded convolutions with norms, so that the class of
// every place of the image comes out at the image's own size. The way up is a transposed convolution, or bilinear
// upsampling ("unet-bilinear"). A number is the channels of the first level, which double from level to level: "unet-8"
// is an eighth as wide as the published one.
#include <optional>
#include <vector>

#include "base/error.h"
#include "models/networks.h"

namespace thimble {
namespace {

constexpr std::int64_t kLevels = 4;

struct Variant {
  std::int64_t channels = 64;  // of the first level
  bool is_bilinear = false;
};

std::optional<Variant> variant_of(std::string_view base) {
  constexpr std::string_view kBilinear = "-bilinear";
  Variant variant;
  variant.is_bilinear = base.ends_with(kBilinear);
  if (variant.is_bilinear) base.remove_suffix(kBilinear.size());
  if (base == "unet") return variant;
  const std::optional<std::int64_t> channels = number_behind(base, "unet-");
  if (!channels) return std::nullopt;
  variant.channels = *channels;
  return variant;
}

ValueId double_conv(Network& net, ValueId x, const std::string& name, std::int64_t middle, std::int64_t channels,
                    Network::Norm norm) {
  x = net.relu(net.norm(net.conv(x, name + ".double_conv.0", {.channels = middle}), name + ".double_conv.1", norm),
               name + ".double_conv.2");
  x = net.conv(x, name + ".double_conv.3", {.channels = channels});
  return net.relu(net.norm(x, name + ".double_conv.4", norm), name + ".double_conv.5");
}

ValueId up(Network& net, ValueId x, ValueId skip, const std::string& name, std::int64_t channels, bool is_bilinear,
           Network::Norm norm) {
  const Shape to = net.shape(skip);
  x = is_bilinear ? net.upsample(x, to[1], to[2], name + ".up")
                  : net.conv_transposed(x, name + ".up", net.channels(x) / 2, 2);
  x = net.concat({skip, x}, name + ".concat");
  const std::int64_t middle = is_bilinear ? net.channels(x) / 2 : channels;
  return double_conv(net, x, name + ".conv", middle, channels, norm);
}

Model build(const ModelSpec& spec, OpTable ops, std::string_view base, Network::Norm norm) {
  constexpr std::int64_t kMultiple = 1 << kLevels, kMostChannels = 1024;
  const auto [first, is_bilinear] = *variant_of(base);
  require(first >= 1 && first <= kMostChannels, "unet: found ", first, " channels, wanted 1 to ", kMostChannels);
  require(spec.sample[0] % kMultiple == 0 && spec.sample[1] % kMultiple == 0, "unet: found images of ",
          to_text(spec.sample), ", wanted height and width in multiples of ", kMultiple);
  Network net(spec, ops, kUNet.labels);
  std::vector<ValueId> skips = {double_conv(net, net.images(), "inc", first, first, norm)};
  for (std::int64_t level = 1; level <= kLevels; ++level) {
    const std::string name = "down" + std::to_string(level) + ".maxpool_conv";
    const std::int64_t channels = (first << level) / (is_bilinear && level == kLevels ? 2 : 1);
    const ValueId x = net.max_pool(skips.back(), 2, 2, 0, name + ".0");
    skips.push_back(double_conv(net, x, name + ".1", channels, channels, norm));
  }
  ValueId x = skips.back();
  for (std::int64_t level = 1; level <= kLevels; ++level) {
    const std::int64_t channels = (first << (kLevels - level)) / (is_bilinear && level < kLevels ? 2 : 1);
    const ValueId skip = skips[static_cast<std::size_t>(kLevels - level)];
    x = up(net, x, skip, "up" + std::to_string(level), channels, is_bilinear, norm);
  }
  return net.finish(net.conv(x, "outc.conv", {.channels = spec.classes, .kernel = 1, .bias = true}));
}

}  // namespace

const NetworkDef kUNet = {.pattern = "unet[-<channels>][-bilinear][-gn]",
                          .summary = "U-Net: a class for every place of the image; a narrow one is unet-8",
                          .example = "unet",
                          .sample = {256, 256, 3},
                          .classes = 2,
                          .labels = Labels::place,
                          .knows = [](std::string_view base) { return variant_of(base).has_value(); },
                          .build = build};

}  // namespace thimble
