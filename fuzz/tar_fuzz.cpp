// Any bytes as a tar archive, each header's checksum put right first: refused with a UserError, or unpacked into files
// of one folder, within the limits.
#include "data/tar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "base/error.h"

namespace {

constexpr std::size_t kBlock = 512, kSumAt = 148, kSumSize = 8;

// Every block might be a header: wherever one stands, its sum is right.
std::vector<std::uint8_t> with_sums(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> bytes(data, data + size);
  for (std::size_t at = 0; at + kBlock <= bytes.size(); at += kBlock) {
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at + kSumAt), kSumSize, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) sum += bytes[at + i];
    char text[kSumSize];
    std::snprintf(text, sizeof(text), "%06o", sum);
    std::copy_n(text, sizeof(text) - 1, bytes.begin() + static_cast<std::ptrdiff_t>(at + kSumAt));
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thimble;
  static const std::string folder = "/dev/shm/thimble-tar-fuzz-" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  const std::vector<std::uint8_t> bytes = with_sums(data, size);
  std::size_t at = 0;
  const ByteReader read = [&](std::span<std::uint8_t> into) {
    const std::size_t count = std::min(into.size(), bytes.size() - at);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), count, into.begin());
    at += count;
    return static_cast<std::int64_t>(count);
  };
  try {
    unpack_tar(read, "input", "a", folder, {.files = 8, .bytes = 1 << 16});
  } catch (const UserError&) {
  }
  std::filesystem::remove_all(folder);
  return 0;
}
