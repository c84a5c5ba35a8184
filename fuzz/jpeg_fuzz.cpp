// Any bytes behind the first three of a JPEG; see picture_target.h. fuzz/corpus/jpeg has something to start from.
#include <vector>

#include "picture_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  std::vector<std::uint8_t> bytes(data, data + size);
  // Every input is a JPEG by its first bytes, so that none is wasted on the question what it is.
  bytes[1] = 0xff, bytes[2] = 0xd8, bytes[3] = 0xff;
  thimble::fuzz::read_as_picture(bytes);
  return 0;
}
