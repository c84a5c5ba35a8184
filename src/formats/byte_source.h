// Where a reader takes its bytes and a writer leaves them: a file or a piece of memory. Readers see only this, so that
// every one of them can be tested and fuzzed without a file. Nobody asks for more than kChunkBytes at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "base/bytes.h"

namespace thimble {

constexpr Bytes kChunkBytes = 64 * kKiB;

struct ByteSource {
  std::string name;  // how messages call it: the path
  Bytes size = 0;
  std::function<void(Bytes offset, std::span<std::byte> out)> read;  // fills all of `out` or throws UserError
};

ByteSource memory_source(std::span<const std::byte> bytes, std::string name);  // the bytes must outlive the source

// Takes the next bytes of something that is written front to back.
using ByteSink = std::function<void(std::span<const std::byte> bytes)>;

inline std::span<const std::byte> bytes_of_text(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace thimble
