#include "select/use.h"

#include "base/error.h"

namespace thimble {
namespace {

constexpr std::string_view kRandomKey = "key";

Attributes without_key(const Attributes& attributes) {
  Attributes kept;
  for (const auto& [name, value] : attributes.items()) {
    if (name != kRandomKey) kept.set(name, value);
  }
  return kept;
}

}  // namespace

std::string_view kernel_name(const Choice& choice) {
  return choice.kernel == nullptr ? "reference" : choice.kernel->name;
}

std::string use_text(const Choice& choice, const Node& node, const Graph::NodeTypes& types) {
  std::string text(kernel_name(choice));
  if (choice.kernel == nullptr) text += join_text(" ", node.op->name);
  for (const Type& type : types.in) text += " " + to_text(type);
  text += " ->";
  for (const Type& type : types.out) text += " " + to_text(type);
  const std::string attributes = to_text(without_key(node.attributes));
  return attributes.empty() ? text : text + " " + attributes;
}

}  // namespace thimble
