#include "ir/text.h"

#include <queue>

#include "base/error.h"
#include "ir/text_token.h"

namespace thimble {
namespace {

std::string quoted(std::string_view word) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (byte < 0x20 || byte >= 0x7f) {
      text += {'\\', 'x', kHexDigits[byte / 16], kHexDigits[byte % 16]};
    } else {
      text += c;
    }
  }
  return text + '"';
}

std::string value_text(const AttributeValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  return word != nullptr && !is_plain_word(*word) ? quoted(*word) : attribute_text(value);
}

// Only what differs from the op's defaults.
std::string attributes_text(const Node& node) {
  Attributes compulsory;
  for (const AttributeDef& def : node.op->attributes) {
    if (def.fallback.empty()) compulsory.set(def.name, std::get<0>(std::tuple(AttributeValue{})));
  }
  return {};
}

}  // namespace
}  // namespace thimble
