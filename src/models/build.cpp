#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "base/nearest.h"
#include "models/networks.h"

namespace thimble {
namespace {

struct WideResNetName {
  std::int64_t depth = 0;
  std::int64_t width = 0;
};

// "wrn28-2" or "wrn-28-2"
std::optional<WideResNetName> parse_wide_resnet(std::string_view name) {
  if (!name.starts_with("wrn")) return std::nullopt;
  name.remove_prefix(3);
  if (name.starts_with("-")) name.remove_prefix(1);
  WideResNetName result;
  const char* end = name.data() + name.size();
  const auto depth = std::from_chars(name.data(), end, result.depth);
  if (depth.ec != std::errc{} || depth.ptr == end || *depth.ptr != '-') return std::nullopt;
  const auto width = std::from_chars(depth.ptr + 1, end, result.width);
  if (width.ec != std::errc{} || width.ptr != end) return std::nullopt;
  return result;
}

[[noreturn]] void fail_unknown(std::string_view name) {
  std::vector<std::string> known;
  std::string patterns;
  for (const ModelInfo& info : known_models()) {
    known.emplace_back(info.example);
    if (info.name.ends_with("[-gn]")) known.push_back(std::string(info.example) + "-gn");
    patterns += join_text(patterns.empty() ? "" : ", ", info.name);
  }
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const std::string nearest = nearest_word(lower, known);
  fail_user(join_text("model: there is no network '", name, "'",
                      nearest.empty() ? "." : "; did you mean '" + nearest + "'?", " Known: ", patterns,
                      "; 'thimble models' tells more"));
}

}  // namespace

std::vector<ModelInfo> known_models() {
  return {
      {"wrn<d>-<k>[-gn]", "WideResNet of depth d and width k for small images, batch or group norm", "wrn28-2"},
      {"resnet18[-gn]", "ResNet-18; small-image stem under 64 pixels, 7x7 stem and max pool from there on", "resnet18"},
      {"lenet-300-100", "two hidden layers of 300 and 100 units", "lenet-300-100"}};
}

Shape default_sample(std::string_view name) {
  if (name.starts_with("lenet")) return {28, 28, 1};
  if (name.starts_with("wrn") || name.starts_with("resnet")) return {32, 32, 3};
  fail_unknown(name);
}

Model build_model(const ModelSpec& spec, OpTable ops) {
  std::string_view name = spec.name;
  const bool has_groups = name.ends_with("-gn");
  if (has_groups) name.remove_suffix(3);
  const Network::Norm norm = has_groups ? Network::Norm::group : Network::Norm::batch;
  if (const auto wide = parse_wide_resnet(name)) return build_wide_resnet(spec, ops, wide->depth, wide->width, norm);
  if (name == "resnet18") return build_resnet18(spec, ops, norm);
  if (name == "lenet-300-100" && !has_groups) return build_lenet_300_100(spec, ops);
  fail_unknown(spec.name);
}

}  // namespace thimble
