// Reads one JSON object as a stream of events: depth, token length and memory are bounded, and the text is never held
// whole. The one place that knows the JSON library.
#pragma once

#include <cstdint>
#include <string_view>

#include "formats/byte_source.h"

namespace thimble {

struct JsonLimits {
  int depth = 4;                  // nested objects and arrays, the outermost included
  Bytes token_bytes = 64 * kKiB;  // longest string, number or run of white space
};

// An event throws UserError to refuse what it is given. All but keys and objects are refused unless overridden.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void on_begin_object() = 0;
  virtual void on_end_object() = 0;
  virtual void on_key(std::string_view key) = 0;
  virtual void on_begin_array() { refuse("a list"); }
  virtual void on_end_array() {}
  virtual void on_text(std::string_view) { refuse("a text"); }
  virtual void on_integer(std::int64_t) { refuse("an integer"); }
  virtual void on_number(double) { refuse("a number with a fraction, an exponent or more than 63 bits"); }
  virtual void on_boolean(bool) { refuse("true or false"); }
  virtual void on_null() { refuse("null"); }

 protected:
  [[noreturn]] virtual void refuse(std::string_view found) const = 0;  // says where it stood and what it wanted
};

// The bytes [begin, end) of `source` must be one object that starts at `begin`; only white space may follow it.
void read_json(const ByteSource& source, Bytes begin, Bytes end, const JsonLimits& limits, JsonEvents& events);

}  // namespace thimble
