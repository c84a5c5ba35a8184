// Writes JSON: one object at a time, keys in the order given. What is written is always valid JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace thimble {

bool is_utf8(std::string_view text);

// `text` in quotes. Bytes that are not UTF-8 (file names may hold any) become U+FFFD.
std::string json_quoted(std::string_view text);

class JsonObject {
 public:
  JsonObject& text(std::string_view key, std::string_view value) { return raw(key, json_quoted(value)); }
  JsonObject& integer(std::string_view key, std::int64_t value) { return raw(key, std::to_string(value)); }
  JsonObject& number(std::string_view key, double value);  // NaN and infinity, which JSON lacks, become null
  JsonObject& boolean(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  JsonObject& raw(std::string_view key, std::string_view json);  // `json` is JSON already

  std::string to_string() const { return body_.empty() ? "{}" : "{" + body_ + "}"; }

 private:
  std::string body_;
};

}  // namespace thimble
