// Any text as a graph: refused with a UserError, or a graph whose own text reads back as the same text.
// Seeds: fuzz/corpus/graph_text, and every tests/passes/*.graph.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "ir/text.h"
#include "ops/table.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thimble;
  try {
    const Graph graph = parse_graph({reinterpret_cast<const char*>(data), size}, op_table());
    const std::string text = to_text(graph);
    ensure(to_text(parse_graph(text, op_table())) == text, "the text of a parsed graph does not read back");
  } catch (const UserError&) {
  }
  return 0;
}
