#include "formats/json_text.h"

#include <cmath>
#include <cstdio>

#include "base/error.h"

namespace thimble {
namespace {

unsigned byte_at(std::string_view text, std::size_t index) { return static_cast<unsigned char>(text[index]); }

bool is_continuation(std::string_view text, std::size_t index) {
  return index < text.size() && (byte_at(text, index) & 0xc0U) == 0x80U;
}

// Bytes of the UTF-8 character at `index`; 0 for anything else, also overlong forms, surrogates and above U+10FFFF.
std::size_t utf8_length(std::string_view text, std::size_t index) {
  const unsigned first = byte_at(text, index);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4 || !is_continuation(text, index + 1)) return 0;
  if (first < 0xe0) return 2;
  const unsigned second = byte_at(text, index + 1);
  if (!is_continuation(text, index + 2)) return 0;
  if (first < 0xf0) {
    const bool is_bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0);
    return is_bad ? 0 : 3;
  }
  const bool is_bad = (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
  return is_bad || !is_continuation(text, index + 3) ? 0 : 4;
}

void append_escaped(std::string& out, char character) {
  switch (character) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  if (static_cast<unsigned char>(character) >= 0x20) {
    out += character;
    return;
  }
  char buffer[8];
  std::snprintf(buffer, sizeof(buffer), "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(character)));
  out += buffer;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t index = 0; index < text.size();) {
    const std::size_t length = utf8_length(text, index);
    if (length == 0) return false;
    index += length;
  }
  return true;
}

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t index = 0; index < text.size();) {
    const std::size_t length = utf8_length(text, index);
    if (length == 0) out += "\xef\xbf\xbd";
    if (length == 1) append_escaped(out, text[index]);
    if (length > 1) out += text.substr(index, length);
    index += length == 0 ? 1 : length;
  }
  return out + '"';
}

JsonObject& JsonObject::number(std::string_view key, double value) {
  return raw(key, std::isfinite(value) ? to_text(value) : "null");
}

JsonObject& JsonObject::raw(std::string_view key, std::string_view json) {
  if (!body_.empty()) body_ += ',';
  body_ += json_quoted(key);
  body_ += ':';
  body_ += json;
  return *this;
}

}  // namespace thimble
