// Numbers in the names of networks, and the channels that a width multiplier leaves.
#include <algorithm>
#include <charconv>

#include "models/networks.h"

namespace thimble {

std::optional<std::int64_t> number_behind(std::string_view base, std::string_view prefix) {
  if (!base.starts_with(prefix)) return std::nullopt;
  base.remove_prefix(prefix.size());
  std::int64_t number = 0;
  const char* end = base.data() + base.size();
  const auto [stop, error] = std::from_chars(base.data(), end, number);
  if (error != std::errc{} || stop != end || number < 0) return std::nullopt;
  return number;
}

std::optional<double> width_behind(std::string_view base, std::string_view name) {
  if (base == name) return 1.0;
  if (!base.starts_with(name)) return std::nullopt;
  base.remove_prefix(name.size());
  if (!base.starts_with("-")) return std::nullopt;
  base.remove_prefix(1);
  double width = 0;
  const char* end = base.data() + base.size();
  const auto [stop, error] = std::from_chars(base.data(), end, width, std::chars_format::fixed);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return width;
}

std::int64_t scaled_channels(double channels) {
  const auto nearest = std::max<std::int64_t>(8, static_cast<std::int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(nearest) < 0.9 * channels ? nearest + 8 : nearest;
}

}  // namespace thimble
