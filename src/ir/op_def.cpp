#include "ir/op_def.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace thimble {
namespace {

AttributeValue parse_fallback(const AttributeDef& def) {
  const char* end = def.fallback.data() + def.fallback.size();
  if (def.kind == AttributeKind::integer) {
    std::int64_t value = 0;
    ensure(std::from_chars(def.fallback.data(), end, value).ptr == end, "attribute '", def.name, "': bad default");
    return value;
  }
  if (def.kind == AttributeKind::number) {
    double value = 0;
    ensure(std::from_chars(def.fallback.data(), end, value).ptr == end, "attribute '", def.name, "': bad default");
    return value;
  }
  return std::string(def.fallback);
}

bool has_kind(const AttributeValue& value, AttributeKind kind) {
  switch (kind) {
    case AttributeKind::integer: return std::holds_alternative<std::int64_t>(value);
    case AttributeKind::number: return !std::holds_alternative<std::string>(value);
    case AttributeKind::word: return std::holds_alternative<std::string>(value);
  }
  return false;
}

}  // namespace

const OpDef* find_op(OpTable table, std::string_view name) {
  const auto place = std::lower_bound(table.begin(), table.end(), name,
                                      [](const OpDef* op, std::string_view wanted) { return op->name < wanted; });
  return place != table.end() && (*place)->name == name ? *place : nullptr;
}

Attributes complete_attributes(const OpDef& op, const Attributes& given) {
  for (const auto& [name, value] : given.items()) {
    const auto def = std::find_if(op.attributes.begin(), op.attributes.end(),
                                  [&name = name](const AttributeDef& d) { return d.name == name; });
    require(def != op.attributes.end(), op.name, ": there is no attribute '", name, "'");
    require(has_kind(value, def->kind), op.name, ": attribute '", name,
            "' has the wrong kind of value: ", attribute_text(value));
  }
  Attributes result = given;
  for (const AttributeDef& def : op.attributes) {
    if (result.has(def.name)) continue;
    require(!def.fallback.empty(), op.name, ": attribute '", def.name, "' must be given");
    result.set(def.name, parse_fallback(def));
  }
  return result;
}

}  // namespace thimble
