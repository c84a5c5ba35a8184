// Any bytes as a safetensors file: refused with a UserError, or a table that covers the data and finds every name.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "formats/safetensors.h"

namespace {

using namespace thimble;

void check(const SafetensorsTable& table, const ByteSource& source) {
  Bytes covered = table.count() == 0 ? source.size : table.at(0).begin;
  for (std::int64_t index = 0; index < table.count(); ++index) {
    const StoredTensor tensor = table.at(index);
    ensure(tensor.begin == covered && tensor.bytes == tensor.shape.count() * bytes_of(tensor.type), "bad place");
    ensure(table.find(tensor.name)->begin == tensor.begin, "another tensor found by this name");
    covered += tensor.bytes;
    std::byte last{};
    if (tensor.bytes > 0) source.read(covered - 1, {&last, 1});
  }
  ensure(covered == source.size, "data not covered");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteSource source = memory_source(std::as_bytes(std::span(data, size)), "input");
  // Small limits as well as real ones: both sides of each border are then within reach of small inputs.
  for (const SafetensorsLimits& limits :
       {SafetensorsLimits{},
        SafetensorsLimits{.header_bytes = 256, .tensor_count = 2, .name_bytes = 4, .metadata_bytes = 64}}) {
    try {
      check(parse_safetensors(source, limits), source);
    } catch (const UserError&) {
    }
  }
  return 0;
}
