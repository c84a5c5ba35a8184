#include "cli/config.h"

// Parsing returns a value; whatever this program does not use of the library stays out of it.
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "base/error.h"
#include "formats/file.h"
#include "formats/json_text.h"

namespace thimble::cli {
namespace {

constexpr Bytes kLargestConfig = 64 * kKiB;

std::string read_text(const std::string& path) {
  const File file = open_to_read(path);
  const Bytes size = size_of(file);
  require(size <= kLargestConfig, path, ": found ", size, " bytes, wanted a config file of at most ", kLargestConfig);
  std::string text(static_cast<std::size_t>(size), '\0');
  read_at(file, 0, std::as_writable_bytes(std::span(text)));
  return text;
}

std::string_view kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "a whole number";
    case toml::node_type::floating_point: return "a number with a fraction";
    case toml::node_type::boolean: return "true or false";
    case toml::node_type::array: return "an array";
    case toml::node_type::table: return "a table";
    default: return "a date or time";
  }
}

std::string wanted_by(const OptionDef& option) {
  switch (option.kind) {
    case OptionKind::flag: return "true or false";
    case OptionKind::integer: return "a whole number";
    case OptionKind::number: return "a number";
    case OptionKind::text: return join_text("a string in quotes: ", option.value);
    case OptionKind::word: return join_text("a string in quotes: ", option.value);
    case OptionKind::list: return "an array such as [\"a\", \"b\"], or a string";
  }
  return "";
}

// The node as it would stand on the command line; none if it is of a kind the option does not take.
std::optional<std::string> text_of(const toml::node& node, const OptionDef& option) {
  const bool takes_integer =
      option.kind == OptionKind::integer || option.kind == OptionKind::number || option.value.starts_with("N|");
  if (takes_integer && node.is_integer()) return to_text(node.as_integer()->get());
  if (option.kind == OptionKind::number && node.is_floating_point()) return to_text(node.as_floating_point()->get());
  if (option.kind == OptionKind::flag && node.is_boolean()) return node.as_boolean()->get() ? "true" : "false";
  const bool takes_string =
      option.kind == OptionKind::text || option.kind == OptionKind::word || option.kind == OptionKind::list;
  if (takes_string && node.is_string()) return node.as_string()->get();
  if (option.kind != OptionKind::list || !node.is_array()) return std::nullopt;
  std::string text;
  for (const toml::node& item : *node.as_array()) {
    if (!text.empty()) text += ',';
    if (item.is_string())
      text += item.as_string()->get();
    else if (item.is_integer())
      text += to_text(item.as_integer()->get());
    else if (item.is_floating_point())
      text += to_text(item.as_floating_point()->get());
    else
      return std::nullopt;
  }
  return text;
}

void take_entry(const std::string& path, const toml::key& key, const toml::node& node, Source source,
                Arguments& arguments) {
  const std::string name(key.str());
  const std::string where = join_text(path, ":", key.source().begin.line, ": ", name);
  if (name == "model") {
    require(node.is_string(), where, ": found ", kind_of(node), ", wanted a string in quotes: the name of a network");
    arguments.give_model(node.as_string()->get(), source);
    return;
  }
  const OptionDef* option = find_option(name);
  const bool is_key = option != nullptr && name != "help" && name != "config" && name != "resume";
  if (!is_key) {
    std::vector<std::string> known = {"model"};
    for (const OptionDef& def : option_table()) known.emplace_back(def.name);
    fail_user(join_text(where, ": there is no such option", option != nullptr ? " in a file" : hint(name, known),
                        " Keys are the names of options without dashes"));
  }
  std::optional<std::string> text = text_of(node, *option);
  require(text.has_value(), where, ": found ", kind_of(node), ", wanted ", wanted_by(*option));
  if ((option->verbs & set_of(arguments.verb())) == 0) return;
  if (option->kind == OptionKind::list && text->empty()) return;
  arguments.give({option, std::move(*text), source, where});
}

}  // namespace

void read_config(const std::string& path, Source source, Arguments& arguments) {
  const std::string text = read_text(path);
  const toml::parse_result result = toml::parse(text);
  require(result.succeeded(), path, ":", result.failed() ? result.error().source().begin.line : 0, ": ",
          result.failed() ? result.error().description() : "", "; wanted lines such as  batch = 100");
  for (const auto& [key, node] : result.table()) take_entry(path, key, node, source, arguments);
}

// A JSON string is a TOML string too.
std::string config_text(const Arguments& arguments) {
  std::string out = join_text("model = ", json_quoted(arguments.model()), "\n");
  for (const GivenValue& value : arguments.values()) {
    const bool is_bare = value.option->kind == OptionKind::flag || value.option->kind == OptionKind::integer ||
                         value.option->kind == OptionKind::number;
    std::string text = value.text;
    // A number such as "1e-3" is TOML as it stands, ".5" is not.
    if (value.option->kind == OptionKind::number) text = to_text(parse_number(text).value());
    if (value.option->kind == OptionKind::integer) text = to_text(parse_integer(text).value());
    out += join_text(value.option->name, " = ", is_bare ? text : json_quoted(text), "\n");
  }
  return out;
}

}  // namespace thimble::cli
