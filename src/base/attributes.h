// Small ordered list of named values that parameterises a node: integers, numbers and words. A missing name is our
// error.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace thimble {

using AttributeValue = std::variant<std::int64_t, double, std::string>;

class Attributes {
 public:
  using Item = std::pair<std::string, AttributeValue>;

  Attributes() = default;
  Attributes(std::initializer_list<Item> items);

  void set(std::string_view name, AttributeValue value);
  bool has(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;  // an integer is taken as a number too
  const std::string& word(std::string_view name) const;
  const std::vector<Item>& items() const { return items_; }  // sorted by name

  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  const AttributeValue* find(std::string_view name) const;
  std::vector<Item> items_;
};

std::string attribute_text(const AttributeValue& value);
std::string to_text(const Attributes& attributes);  // "{padding=1, stride=2}"; empty text if there are none

}  // namespace thimble
