// Any bytes as a file of costs: refused with a UserError, or written and read the same.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "formats/cost_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thimble;
  try {
    const CostFile file = parse_costs(memory_source(std::as_bytes(std::span(data, size)), "input"));
    const std::string text = to_text(file);
    ensure(parse_costs(memory_source(bytes_of_text(text), "own text")) == file, "does not read back the same");
  } catch (const UserError&) {
  }
  return 0;
}
