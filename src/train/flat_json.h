// A JSON object of plain values, read whole: what run.json and trainer_state.json are. Small by its limits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "formats/byte_source.h"

namespace thimble {

class FlatJson {
 public:
  // UserError for anything but one object of texts, numbers, true and false, each key once.
  explicit FlatJson(const ByteSource& source);

  bool has(std::string_view key) const { return values_.contains(key); }
  bool is_boolean(std::string_view key) const { return std::holds_alternative<bool>(get(key)); }
  // UserError with the file's name if the key is missing or of another kind.
  const std::string& text(std::string_view key) const;
  std::int64_t integer(std::string_view key) const;
  double number(std::string_view key) const;  // an integer is taken as a number too
  bool boolean(std::string_view key) const;

  const std::string& name() const { return name_; }  // of the file

 private:
  using Value = std::variant<std::string, std::int64_t, double, bool>;
  friend class FlatJsonEvents;

  const Value& get(std::string_view key) const;

  std::string name_;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace thimble
