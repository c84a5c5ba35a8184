// The built-in networks, one file each. A network states what it is called and how it is built; the list below is all
// there is to extend.
#pragma once

#include <optional>

#include "models/network.h"

namespace thimble {

struct NetworkDef {
  std::string_view pattern;  // as typed, with <..> where numbers go and [..] around what may be left out
  std::string_view summary;
  std::string_view example;
  Shape sample;  // (H, W, C) it was published with
  std::int64_t classes = 10;
  Network::Norm norm = Network::Norm::batch;  // without a suffix; -bn and -gn choose another where there is a norm
  bool has_norms = true;
  Labels labels = Labels::image;
  bool (*knows)(std::string_view base) = nullptr;  // the name without the norm's suffix
  Model (*build)(const ModelSpec& spec, OpTable ops, std::string_view base, Network::Norm norm) = nullptr;
};

extern const NetworkDef kWideResNet;
extern const NetworkDef kResNet;
extern const NetworkDef kSmallResNet;
extern const NetworkDef kMobileNetV1;
extern const NetworkDef kMobileNetV2;
extern const NetworkDef kSqueezeNet;
extern const NetworkDef kShuffleNetV2;
extern const NetworkDef kDenseNet;
extern const NetworkDef kVgg;
extern const NetworkDef kUNet;
extern const NetworkDef kLeNet;

// The whole number behind `prefix`, if `base` is just that: "resnet50" behind "resnet" is 50.
std::optional<std::int64_t> number_behind(std::string_view base, std::string_view prefix);

// The width multiplier of "NAME-0.35"; 1 of "NAME" alone; nothing if `base` is something else.
std::optional<double> width_behind(std::string_view base, std::string_view name);

// Channels of a scaled layer: the nearest multiple of 8, at least 8, never more than a tenth below what was asked.
std::int64_t scaled_channels(double channels);

}  // namespace thimble
