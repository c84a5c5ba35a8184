// Any chunks behind the signature of a PNG, their checksums put right first, since hardly any change would get past
// them; see picture_target.h. fuzz/corpus/png has something to start from.
#include <zlib.h>

#include <algorithm>
#include <vector>

#include "picture_target.h"

namespace {

constexpr std::uint8_t kSignature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

std::size_t word_at(const std::vector<std::uint8_t>& bytes, std::size_t at) {
  return std::size_t{bytes[at]} << 24 | std::size_t{bytes[at + 1]} << 16 | std::size_t{bytes[at + 2]} << 8 |
         bytes[at + 3];
}

// A chunk: length, type, that many bytes, checksum of type and bytes.
void mend_checksums(std::vector<std::uint8_t>& bytes, std::size_t at) {
  while (bytes.size() - at >= 12) {
    const std::size_t length = word_at(bytes, at);
    if (length > bytes.size() - at - 12) return;
    const unsigned long sum = crc32(0, bytes.data() + at + 4, static_cast<uInt>(4 + length));
    for (std::size_t i = 0; i < 4; ++i) {
      bytes[at + 8 + length + i] = static_cast<std::uint8_t>(sum >> (24 - 8 * static_cast<int>(i)));
    }
    at += 12 + length;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kBegin = 1 + sizeof(kSignature);
  if (size < kBegin) return 0;
  std::vector<std::uint8_t> bytes(data, data + size);
  std::copy(std::begin(kSignature), std::end(kSignature), bytes.begin() + 1);
  mend_checksums(bytes, kBegin);
  thimble::fuzz::read_as_picture(bytes);
  return 0;
}
