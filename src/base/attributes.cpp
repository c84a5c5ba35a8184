#include "base/attributes.h"

#include <algorithm>

#include "base/error.h"

namespace thimble {

Attributes::Attributes(std::initializer_list<Item> items) {
  for (const Item& item : items) set(item.first, item.second);
}

void Attributes::set(std::string_view name, AttributeValue value) {
  const auto place = std::lower_bound(items_.begin(), items_.end(), name,
                                      [](const Item& item, std::string_view wanted) { return item.first < wanted; });
  if (place != items_.end() && place->first == name) {
    place->second = std::move(value);
  } else {
    items_.insert(place, {std::string(name), std::move(value)});
  }
}

const AttributeValue* Attributes::find(std::string_view name) const {
  for (const Item& item : items_) {
    if (item.first == name) return &item.second;
  }
  return nullptr;
}

bool Attributes::has(std::string_view name) const { return find(name) != nullptr; }

std::int64_t Attributes::integer(std::string_view name) const {
  const AttributeValue* value = find(name);
  ensure(value != nullptr && std::holds_alternative<std::int64_t>(*value), "attribute '", name,
         "' is missing or not an integer");
  return std::get<std::int64_t>(*value);
}

double Attributes::number(std::string_view name) const {
  const AttributeValue* value = find(name);
  ensure(value != nullptr && !std::holds_alternative<std::string>(*value), "attribute '", name,
         "' is missing or not a number");
  if (const auto* integer = std::get_if<std::int64_t>(value)) return static_cast<double>(*integer);
  return std::get<double>(*value);
}

const std::string& Attributes::word(std::string_view name) const {
  const AttributeValue* value = find(name);
  ensure(value != nullptr && std::holds_alternative<std::string>(*value), "attribute '", name,
         "' is missing or not a word");
  return std::get<std::string>(*value);
}

std::string attribute_text(const AttributeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return to_text(*integer);
  if (const auto* number = std::get_if<double>(&value)) {
    std::string text = to_text(*number);
    // A number must not read back as an integer.
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  return std::get<std::string>(value);
}

std::string to_text(const Attributes& attributes) {
  if (attributes.items().empty()) return "";
  std::string text = "{";
  for (const auto& [name, value] : attributes.items()) {
    if (text.size() > 1) text += ", ";
    text += name + "=" + attribute_text(value);
  }
  return text + "}";
}

}  // namespace thimble
