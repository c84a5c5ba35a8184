// Unpacks a tar archive as a stream, in small pieces. Takes plain files that lie directly in one folder, and nothing
// else: no links, no devices, no way out of the folder.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace thimble {

// Fills the span and says how many bytes there were: fewer than asked for only at the end.
using ByteReader = std::function<std::int64_t(std::span<std::uint8_t> into)>;

struct TarLimits {
  std::int64_t files = 1000;
  std::int64_t bytes = std::int64_t{1} << 30;  // of all files together
};

// Writes every file of `inner_folder` in the archive to `into`, an existing folder, and brings them to disk. UserError
// with the archive's name for anything else in it, and where it ends early.
void unpack_tar(const ByteReader& read, const std::string& archive, const std::string& inner_folder,
                const std::string& into, const TarLimits& limits = {});

}  // namespace thimble
