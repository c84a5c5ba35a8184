// Where bytes live, and which way they move between the two.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace thimble {

enum class Space : std::uint8_t { arena, spill };

enum class Direction : std::uint8_t { load, store };  // into the arena; out of it

// Unit of offsets and lengths in the spill file: what direct I/O asks of every device in use.
inline constexpr Bytes kSpillBlock = 4096;

}  // namespace thimble
