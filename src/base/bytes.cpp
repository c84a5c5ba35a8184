#include "base/bytes.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/error.h"

namespace thimble {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr std::array<Unit, 14> kUnits = {{{"B", 1},
                                          {"KB", 1e3},
                                          {"MB", 1e6},
                                          {"GB", 1e9},
                                          {"KiB", 1024.0},
                                          {"MiB", 1048576.0},
                                          {"GiB", 1073741824.0},
                                          {"TB", 1e12},
                                          {"TiB", 1099511627776.0},
                                          {"K", 1024.0},
                                          {"M", 1048576.0},
                                          {"G", 1073741824.0},
                                          {"T", 1099511627776.0},
                                          {"kB", 1e3}}};

}  // namespace

std::string to_mib(Bytes value) {
  char buffer[48];
  std::snprintf(buffer, sizeof(buffer), "%.1f MiB", static_cast<double>(value) / static_cast<double>(kMiB));
  return buffer;
}

std::string to_bytes_text(Bytes value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t position = digits.size(); position > first + 3;) {
    position -= 3;
    digits.insert(position, ",");
  }
  return digits + " B (" + to_mib(value) + ")";
}

Bytes parse_bytes(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view unit_text(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const Unit& unit : kUnits) {
    if (error != std::errc{} || unit.name != unit_text) continue;
    const double bytes = number * unit.bytes;
    require(bytes >= 1 && bytes < 9e18, "size '", text, "' is out of range: wanted 1B to 8000000TiB, such as 64MiB");
    return static_cast<Bytes>(std::llround(bytes));
  }
  fail_user(join_text("size '", text,
                      "' is not understood: wanted a number and a unit, such as 64MiB, 64MB, 1GiB or 123456B"));
}

}  // namespace thimble
