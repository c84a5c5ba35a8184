// Any bytes as a .npy file: refused with a UserError, or a header whose array fills the rest of the file.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "formats/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thimble;
  try {
    const NpyHeader header = parse_npy(memory_source(std::as_bytes(std::span(data, size)), "input"));
    ensure(header.data_begin + header.bytes() == static_cast<Bytes>(size), "the array does not fill the file");
  } catch (const UserError&) {
  }
  return 0;
}
