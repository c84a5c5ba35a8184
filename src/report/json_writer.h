// Writes JSON as it comes, holding nothing: objects and arrays are opened and closed by the caller, commas come by
// themselves.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "formats/json_text.h"

namespace thimble {

// A key is given inside objects and left empty inside arrays and for the outermost value.
class JsonWriter {
 public:
  explicit JsonWriter(std::FILE* out) : out_(out) {}

  void begin_object(std::string_view key = {}) { open(key, '{'); }
  void end_object() { close('}'); }
  void begin_array(std::string_view key = {}) { open(key, '['); }
  void end_array() { close(']'); }

  void text(std::string_view key, std::string_view value) { write(key, json_quoted(value)); }
  void integer(std::string_view key, std::int64_t value) { write(key, std::to_string(value)); }
  void boolean(std::string_view key, bool value) { write(key, value ? "true" : "false"); }
  // JSON has no NaN and no infinity: they become null.
  void number(std::string_view key, double value) { write(key, std::isfinite(value) ? to_text(value) : "null"); }
  void null(std::string_view key) { write(key, "null"); }
  void optional_integer(std::string_view key, const std::optional<std::int64_t>& value) {
    value ? integer(key, *value) : null(key);
  }

  template <typename Texts>
  void texts(std::string_view key, const Texts& values) {
    begin_array(key);
    for (const std::string_view value : values) text({}, value);
    end_array();
  }

 private:
  void write(std::string_view key, std::string_view json) {
    separate(key);
    put(json);
    end_value();
  }

  void open(std::string_view key, char bracket) {
    separate(key);
    put({&bracket, 1});
    needs_comma_ = false;
    ++depth_;
  }

  void close(char bracket) {
    put({&bracket, 1});
    --depth_;
    end_value();
  }

  void separate(std::string_view key) {
    if (needs_comma_) put(",");
    if (key.empty()) return;
    put(json_quoted(key));
    put(":");
  }

  void end_value() {
    needs_comma_ = true;
    if (depth_ == 0) {
      put("\n");
      needs_comma_ = false;
    }
  }

  void put(std::string_view bytes) { std::fwrite(bytes.data(), 1, bytes.size(), out_); }

  std::FILE* out_;
  int depth_ = 0;
  bool needs_comma_ = false;
};

}  // namespace thimble
