#include "formats/byte_source.h"

#include <algorithm>

#include "base/error.h"

namespace thimble {

ByteSource memory_source(std::span<const std::byte> bytes, std::string name) {
  const Bytes size = static_cast<Bytes>(bytes.size());
  auto read = [bytes, size, name](Bytes offset, std::span<std::byte> out) {
    const Bytes wanted = static_cast<Bytes>(out.size());
    require(offset >= 0 && wanted <= size && offset <= size - wanted, name, ": wanted ", wanted, " bytes at offset ",
            offset, ", but it has ", size, " bytes");
    std::copy_n(bytes.begin() + offset, out.size(), out.begin());
  };
  return {.name = std::move(name), .size = size, .read = std::move(read)};
}

}  // namespace thimble
