#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "ir/text.h"
#include "ir/text_token.h"

namespace thimble {
namespace {

// Far above what any op has; keeps a hostile line from costing more than its length.
constexpr std::size_t kMaxListed = 64;

// Reads one line from left to right. Spaces separate and mean nothing else; # starts a comment.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) {}

  char peek() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t' || rest_.front() == '\r'))
      rest_.remove_prefix(1);
    return rest_.empty() || rest_.front() == '#' ? '\0' : rest_.front();
  }
  bool is_done() { return peek() == '\0' && (rest_.empty() || rest_.front() == '#'); }

  bool take(char wanted) {
    if (is_done() || peek() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) { require(take(wanted), "found ", found(), ", wanted '", std::string(1, wanted), "'"); }

  std::string_view name(std::string_view what) { return run_of(what, is_name_character); }
  std::int64_t integer(std::string_view what) {
    const std::string_view text = run_of(what, is_name_character);
    std::int64_t value = 0;
    require(read_number(text, value), "found '", text, "', wanted ", what);
    return value;
  }
  AttributeValue attribute_value();

  std::string found() {
    return is_done() ? "the end of the line" : join_text("'", rest_.substr(0, kShownCharacters), "'");
  }

 private:
  static constexpr std::size_t kShownCharacters = 40;

  template <typename Accepts>
  std::string_view run_of(std::string_view what, Accepts&& accepts) {
    peek();  // past the spaces
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), accepts);
    const std::string_view text = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    require(!text.empty(), "found ", found(), ", wanted ", what);
    rest_.remove_prefix(text.size());
    return text;
  }
  std::string quoted_word();
  char escaped_character();

  std::string_view rest_;
};

AttributeValue LineReader::attribute_value() {
  if (peek() == '"') return quoted_word();
  const std::string_view text = run_of("a value", [](char c) { return is_name_character(c) || c == '+'; });
  std::int64_t integer = 0;
  if (read_number(text, integer)) return integer;
  double number = 0;
  if (read_number(text, number)) return number;
  require(is_plain_word(text), "found '", text, "', wanted a number, a word or a text in quotes");
  return std::string(text);
}

std::string LineReader::quoted_word() {
  rest_.remove_prefix(1);
  std::string word;
  while (true) {
    require(!rest_.empty(), "found the end of the line, wanted '\"'");
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == '"') return word;
    word += c == '\\' ? escaped_character() : c;
  }
}

// What follows a backslash: a quote, a backslash, or x and two hexadecimal digits.
char LineReader::escaped_character() {
  const char c = rest_.empty() ? '\0' : rest_.front();
  if (c == '"' || c == '\\') {
    rest_.remove_prefix(1);
    return c;
  }
  unsigned byte = 0;
  const char* const end = rest_.data() + std::min<std::size_t>(rest_.size(), 3);
  require(c == 'x' && rest_.size() >= 3 && std::from_chars(rest_.data() + 1, end, byte, 16).ptr == end, "found '\\",
          rest_.substr(0, 3), "', wanted \\\", \\\\ or \\x and two hexadecimal digits");
  rest_.remove_prefix(3);
  return static_cast<char>(byte);
}

std::optional<Role> role_from_name(std::string_view name) {
  for (const Role role : {Role::activation, Role::gradient, Role::input, Role::label, Role::parameter, Role::optimizer,
                          Role::accumulator, Role::statistic, Role::structure, Role::metric}) {
    if (name_of(role) == name) return role;
  }
  return std::nullopt;
}

// What stands before '=' for one value.
struct Declaration {
  std::string name;
  Type type;
  Role role = Role::activation;
  std::string pool;
  int slot = 0;
};

struct Names {
  std::vector<Declaration> items;
  bool has_role = false;
};

Names parse_names(LineReader& line) {
  Names names;
  Role role = Role::activation;
  do {
    std::string_view word = line.name("a name");
    if (is_name_character(line.peek())) {  // two words: the first one is a role
      const auto found = role_from_name(word);
      require(found.has_value(), "found '", word,
              "' before a name, wanted a role such as input, parameter or gradient");
      role = *found;
      names.has_role = true;
      word = line.name("a name");
    }
    names.items.push_back({std::string(word), {}, role, {}, 0});
    require(names.items.size() <= kMaxListed, "found more than ", kMaxListed, " names before ':'");
  } while (line.take(','));
  return names;
}

void parse_type(LineReader& line, Declaration& declaration) {
  const std::string_view word = line.name("a type");
  const auto dtype = dtype_from_name(word);
  require(dtype.has_value(), "found the type '", word, "', wanted f32, bf16, f64, i32 or u8");
  std::vector<std::int64_t> dims;
  line.expect('[');
  if (!line.take(']')) {
    do {
      dims.push_back(line.integer("a dimension"));
    } while (line.take(','));
    line.expect(']');
  }
  declaration.type = {*dtype, Shape(dims)};
  if (!is_name_character(line.peek())) return;
  const std::string_view layout = line.name("a layout");
  require(layout == "pooled", "found the layout '", layout, "', wanted pooled");
  declaration.type.layout = Layout::pooled;
  if (!line.take('(')) return;
  constexpr std::int64_t kMaxSlot = 1 << 30;
  declaration.pool = line.name("the name of a pool");
  line.expect(':');
  const std::int64_t slot = line.integer("a slot");
  require(slot >= 0 && slot <= kMaxSlot, "found slot ", slot, ", wanted 0 to ", kMaxSlot);
  declaration.slot = static_cast<int>(slot);
  line.expect(')');
}

Attributes parse_attributes(LineReader& line) {
  Attributes attributes;
  if (!line.take('{') || line.take('}')) return attributes;
  do {
    const std::string_view name = line.name("the name of an attribute");
    require(!attributes.has(name), "attribute '", name, "' is given twice");
    line.expect('=');
    attributes.set(name, line.attribute_value());
    require(attributes.items().size() <= kMaxListed, "found more than ", kMaxListed, " attributes");
  } while (line.take(','));
  line.expect('}');
  return attributes;
}

std::vector<ValueId> parse_inputs(LineReader& line, const Graph& graph) {
  std::vector<ValueId> inputs;
  line.expect('(');
  if (line.take(')')) return inputs;
  do {
    const std::string_view name = line.name("the name of an input");
    inputs.push_back(graph.find(name));
    require(inputs.back().is_valid(), "there is no value '", name, "' above this line");
  } while (line.take(','));
  line.expect(')');
  return inputs;
}

// The declared names replace those that the graph made up. Names of its making may collide with declared ones of the
// same node, so all of them make room first.
void declare_outputs(Graph& graph, NodeId id, const std::vector<Declaration>& declared) {
  const std::vector<ValueId> outputs = graph.node(id).outputs;
  require(outputs.size() == declared.size(), "found ", declared.size(), " names, wanted one for each of the ",
          outputs.size(), " outputs of ", graph.node(id).op->name);
  for (std::size_t k = 1; k < outputs.size(); ++k) graph.rename(outputs[k], join_text("#", k));
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    Value& value = graph.value(outputs[k]);
    require(value.type == declared[k].type, "'", declared[k].name, "' is declared as ", declared[k].type, ", but ",
            graph.node(id).op->name, " makes ", value.type);
    value.role = declared[k].role;
    value.pool = declared[k].pool;
    value.slot = declared[k].slot;
    if (value.name != declared[k].name) graph.rename(outputs[k], declared[k].name);
  }
}

void require_new_names(const Graph& graph, const std::vector<Declaration>& declared) {
  for (std::size_t k = 0; k < declared.size(); ++k) {
    const auto same = [&](const Declaration& other) { return other.name == declared[k].name; };
    const bool is_repeated = std::any_of(declared.begin(), declared.begin() + static_cast<std::ptrdiff_t>(k), same);
    require(!is_repeated && !graph.find(declared[k].name).is_valid(), "there are two values named '", declared[k].name,
            "'");
  }
}

void parse_line(Graph& graph, std::string_view text) {
  LineReader line(text);
  if (line.is_done()) return;
  auto [declared, has_role] = parse_names(line);
  line.expect(':');
  for (std::size_t k = 0; k < declared.size(); ++k) {
    if (k > 0) line.expect(',');
    parse_type(line, declared[k]);
  }
  require_new_names(graph, declared);
  if (line.take('=')) {
    const std::string_view op = line.name("the name of an op");
    const std::vector<ValueId> inputs = parse_inputs(line, graph);
    const Attributes attributes = parse_attributes(line);
    require(line.is_done(), "found ", line.found(), ", wanted the end of the line");
    declare_outputs(graph, graph.add_node(op, inputs, attributes, declared[0].name), declared);
    return;
  }
  require(line.is_done(), "found ", line.found(), ", wanted '=' or the end of the line");
  require(has_role && declared.size() == 1, "'", declared[0].name,
          "' has no op: wanted one name with a role, as in 'parameter w : f32[3]'");
  const ValueId id = graph.add_source(declared[0].name, declared[0].type, declared[0].role);
  graph.value(id).pool = declared[0].pool;
  graph.value(id).slot = declared[0].slot;
}

}  // namespace

Graph parse_graph(std::string_view text, OpTable ops) {
  Graph graph(ops);
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    try {
      parse_line(graph, text.substr(0, end));
    } catch (const UserError& error) {
      fail_user(join_text("line ", number, ": ", error.what()));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return graph;
}

}  // namespace thimble
