// Amounts of memory: one integer type, one way to print and one way to read them. MB = 10^6, MiB = 2^20.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace thimble {

using Bytes = std::int64_t;

constexpr Bytes kKiB = 1024;
constexpr Bytes kMiB = 1024 * 1024;
constexpr Bytes kGiB = 1024 * kMiB;

constexpr Bytes round_up(Bytes value, Bytes multiple) { return (value + multiple - 1) / multiple * multiple; }

std::string to_mib(Bytes value);         // "31.9 MiB"
std::string to_bytes_text(Bytes value);  // "33,554,432 B (32.0 MiB)"

// "64MiB", "64MB", "1GiB", "4G", "123456B", "1.5GiB"; UserError for anything else. A bare number is refused: a unit is
// always meant.
Bytes parse_bytes(std::string_view text);

}  // namespace thimble
