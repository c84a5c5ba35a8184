#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "models/networks.h"

namespace thimble {
namespace {

constexpr const NetworkDef* kNetworks[] = {&kWideResNet,  &kResNet,       &kSmallResNet, &kMobileNetV1,
                                           &kMobileNetV2, &kShuffleNetV2, &kSqueezeNet,  &kDenseNet,
                                           &kVgg,         &kUNet,         &kLeNet};

struct Found {
  const NetworkDef* network = nullptr;
  std::string_view base;  // without the norm's suffix
  Network::Norm norm = Network::Norm::none;
};

Found find_network(std::string_view name) {
  std::string_view base = name;
  const bool is_group = name.ends_with("-gn"), is_batch = name.ends_with("-bn");
  if (is_group || is_batch) base.remove_suffix(3);
  for (const NetworkDef* network : kNetworks) {
    if (!network->knows(base) || (base != name && !network->has_norms)) continue;
    const Network::Norm asked = is_group ? Network::Norm::group : Network::Norm::batch;
    return {network, base, base == name ? network->norm : asked};
  }
  return {};
}

[[noreturn]] void fail_unknown(std::string_view name) {
  std::vector<std::string> known;
  std::string patterns;
  for (const NetworkDef* network : kNetworks) {
    known.emplace_back(network->example);
    if (network->has_norms) known.push_back(std::string(network->example) + "-gn");
    patterns += join_text(patterns.empty() ? "" : ", ", network->pattern);
  }
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const std::string nearest = find_network(lower).network != nullptr ? lower : nearest_word(lower, known);
  fail_user(join_text("model: there is no network '", name, "'",
                      nearest.empty() ? "." : "; did you mean '" + nearest + "'?", " Known: ", patterns,
                      "; 'thimble models' tells more"));
}

Found require_network(std::string_view name) {
  const Found found = find_network(name);
  if (found.network == nullptr) fail_unknown(name);
  return found;
}

}  // namespace

std::vector<ModelInfo> known_models() {
  std::vector<ModelInfo> infos;
  for (const NetworkDef* network : kNetworks) infos.push_back({network->pattern, network->summary, network->example});
  return infos;
}

Shape default_sample(std::string_view name) { return require_network(name).network->sample; }

std::int64_t default_classes(std::string_view name) { return require_network(name).network->classes; }

Labels labels_of(std::string_view name) { return require_network(name).network->labels; }

Model build_model(const ModelSpec& spec, OpTable ops) {
  const Found found = require_network(spec.name);
  require(spec.sample.rank() == 3, "model: found samples of shape ", to_text(spec.sample),
          ", wanted (height, width, channels)");
  return found.network->build(spec, ops, found.base, found.norm);
}

}  // namespace thimble
