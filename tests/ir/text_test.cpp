// Graphs as text: what is printed reads back as the same graph, and what is not a graph is refused with its line.
#include "ir/text.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/error.h"
#include "base/random.h"
#include "ops/table.h"

namespace thimble {
namespace {

constexpr std::string_view kNetwork = R"(input x : f32[2,8,8,3]
label labels : i32[2]
parameter conv1.weight : f32[3,3,3,16]
conv1 : f32[2,4,4,16] = conv2d(x, conv1.weight) {activation=relu, padding=1, stride=2}
pool, pool.1 : f32[2,2,2,16], u8[2,2,2,16] = max_pool(conv1) {kernel=2, stride=2}
flat : f32[2,64] = reshape(pool) {shape="2,64"}
drop : f32[2,64] = dropout(flat) {key=-7, p=0.25}
parameter fc/weight : bf16[64,10]
logits : f32[2,10] = linear(drop, fc/weight)
gradient d.flat : f32[2,2,2,16] = reshape(flat) {shape="2,2,2,16"}
gradient d.conv1 : f32[2,4,4,16] = max_pool_grad(d.flat, pool.1) {height=4, kernel=2, stride=2, width=4}
)";

void expect_same(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.value_count(), b.value_count());
  ASSERT_EQ(a.node_count(), b.node_count());
  for (ValueId id{0}; id.index < a.value_count(); ++id.index) {
    const Value &left = a.value(id), &right = b.value(id);
    EXPECT_EQ(left.name, right.name);
    EXPECT_EQ(left.type, right.type) << left.name;
    EXPECT_EQ(left.role, right.role) << left.name;
    EXPECT_EQ(left.producer, right.producer) << left.name;
    EXPECT_EQ(left.output_index, right.output_index) << left.name;
    EXPECT_EQ(left.pool, right.pool) << left.name;
    EXPECT_EQ(left.slot, right.slot) << left.name;
    EXPECT_EQ(a.find(left.name), b.find(left.name));
  }
  for (NodeId id{0}; id.index < a.node_count(); ++id.index) {
    const Node &left = a.node(id), &right = b.node(id);
    EXPECT_EQ(left.op, right.op);
    EXPECT_EQ(left.attributes, right.attributes) << left.op->name;
    EXPECT_EQ(left.inputs, right.inputs) << left.op->name;
    EXPECT_EQ(left.outputs, right.outputs) << left.op->name;
  }
}

std::string refusal_of(std::string_view text) {
  try {
    parse_graph(text, op_table());
  } catch (const UserError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(GraphText, PrintsWhatItParsed) { EXPECT_EQ(to_text(parse_graph(kNetwork, op_table())), kNetwork); }

TEST(GraphText, GivesBackTheSameGraph) {
  const Graph graph = parse_graph(kNetwork, op_table());
  expect_same(graph, parse_graph(to_text(graph), op_table()));
  EXPECT_EQ(graph.value(graph.find("d.conv1")).role, Role::gradient);
  EXPECT_EQ(graph.node(graph.value(graph.find("drop")).producer).attributes.number("p"), 0.25);
}

TEST(GraphText, EveryExampleOfEveryOpGoesThroughTextAndBack) {
  Graph graph(op_table());
  for (const OpDef* op : op_table()) {
    for (const Example& example : op->examples()) {
      std::vector<ValueId> inputs;
      for (const Type& type : example.in) {
        inputs.push_back(graph.add_source("in-" + std::to_string(graph.value_count()), type, Role::statistic));
      }
      graph.add_node(op->name, inputs, example.attributes, std::string(op->name) + "/out'");
    }
  }
  expect_same(graph, parse_graph(to_text(graph), op_table()));
}

TEST(GraphText, SpacesCommentsAndEmptyLinesMeanNothing) {
  const Graph graph = parse_graph(
      "# a network of one op\n"
      "\n"
      "  input\tx:f32[ 2 , 3 ]   # what comes in\r\n"
      "y:f32[2,3]=relu(x){}#nothing\n"
      "\t \n"
      "z : f32[2,3] = add( x ,y )",
      op_table());
  EXPECT_EQ(graph.node_count(), 2);
  EXPECT_EQ(to_text(graph), "input x : f32[2,3]\ny : f32[2,3] = relu(x)\nz : f32[2,3] = add(x, y)\n");
}

TEST(GraphText, ARoleHoldsUntilTheNext) {
  const std::string text =
      "parameter p : f32[5]\n"
      "optimizer v : f32[5]\n"
      "gradient g : f32[5]\n"
      "parameter p', optimizer v' : f32[5], f32[5] = momentum_update(p, v, g) {momentum=0.9}\n"
      "statistic m : f32[3]\n"
      "input x : f32[4,3]\n"
      "gradient dx, dgamma, activation dbeta : f32[4,3], f32[3], f32[3] = batch_norm_grad(x, m, m, m, m, x)\n";
  const Graph graph = parse_graph(text, op_table());
  EXPECT_EQ(graph.value(graph.find("p'")).role, Role::parameter);
  EXPECT_EQ(graph.value(graph.find("v'")).role, Role::optimizer);
  EXPECT_EQ(graph.value(graph.find("dgamma")).role, Role::gradient);
  EXPECT_EQ(graph.value(graph.find("dbeta")).role, Role::activation);
  EXPECT_EQ(to_text(graph), text);
}

TEST(GraphText, ValuesMayBeNamedLikeRolesAndLikeOutputsOfTheSameNode) {
  const std::string text =
      "input input : f32[1,2,2,1]\n"
      "gradient, gradient.2 : f32[1,1,1,1], u8[1,1,1,1] = max_pool(input) {kernel=2, stride=2}\n"
      "input m : f32[1]\n"
      "y, y.2, y.1 : f32[1,2,2,1], f32[1], f32[1] = batch_norm(input, m, m)\n"
      "gradient gradient_ : f32[1,1,1,1] = relu(gradient)\n";
  EXPECT_EQ(to_text(parse_graph(text, op_table())), text);
}

TEST(GraphText, PoolsAndSlotsAreKept) {
  const std::string text =
      "parameter w : f32[100]pooled(weights:3)\n"
      "optimizer v : bf16[100]pooled\n"
      "metric loss : f32[]\n";
  const Graph graph = parse_graph(text, op_table());
  EXPECT_EQ(graph.value(graph.find("w")).pool, "weights");
  EXPECT_EQ(graph.value(graph.find("w")).slot, 3);
  EXPECT_EQ(graph.value(graph.find("v")).type, (Type{DType::bf16, {100}, Layout::pooled}));
  EXPECT_EQ(graph.value(graph.find("loss")).type, (Type{DType::f32, {}}));
  EXPECT_EQ(to_text(graph), text);
}

// An op whose attributes take anything, so that every kind of value can be tried.
std::vector<Type> infer_anything(const OpQuery& q) { return {q.in.begin(), q.in.end()}; }
constexpr AttributeDef kAnyAttributes[] = {{"number", AttributeKind::number, "0.0"},
                                           {"word", AttributeKind::word, "plain"},
                                           {"count", AttributeKind::integer}};
constexpr OpDef kAnyOp = {.name = "any", .formula = "y = x", .attributes = kAnyAttributes, .infer = infer_anything};
constexpr const OpDef* kAnyTable[] = {&kAnyOp};

TEST(GraphText, EveryAttributeValueKeepsItsKindAndBits) {
  const std::string odd_word = std::string("a \"b\" \\ #\n\t\x01\xff") + '\0' + "end";
  const std::vector<AttributeValue> numbers = {std::int64_t{0}, 0.0,    -0.0,  1.0, std::int64_t{1}, 0.1,
                                               1e300,           5e-324, -1e-5, 1e22};
  const std::vector<std::string> words = {"relu", "",    "2,3", "nan", "inf", "-inf",
                                          "1",    "1e5", "-x",  "a b", "a}",  odd_word};
  for (const AttributeValue& number : numbers) {
    for (const std::string& word : words) {
      Graph graph(kAnyTable);
      const ValueId x = graph.add_source("x", {DType::f32, {1}}, Role::input);
      graph.add_node("any", {x}, {{"number", number}, {"word", word}, {"count", INT64_MIN}}, "y");
      const Graph again = parse_graph(to_text(graph), kAnyTable);
      EXPECT_EQ(again.node(NodeId{0}).attributes, graph.node(NodeId{0}).attributes) << to_text(graph);
      EXPECT_EQ(to_text(again), to_text(graph));
    }
  }
}

TEST(GraphText, InfinityAndNanAreNumbers) {
  const std::string text =
      "input x : f32[1]\n"
      "a : f32[1] = any(x) {count=1, number=inf}\n"
      "b : f32[1] = any(x) {count=1, number=-inf}\n"
      "c : f32[1] = any(x) {count=1, number=nan}\n";
  EXPECT_EQ(to_text(parse_graph(text, kAnyTable)), text);
}

TEST(GraphText, AGraphThatAPassTurnedRoundIsPrintedInAnOrderThatReadsBack) {
  Graph graph(op_table());
  const ValueId x = graph.add_source("x", {DType::f32, {3}}, Role::input);
  const NodeId a = graph.add_node("relu", {x}, {}, "a");
  const NodeId b = graph.add_node("relu", {x}, {}, "b");
  const ValueId late = graph.add_source("late", {DType::f32, {3}}, Role::input);
  graph.node(a).inputs = {graph.node(b).outputs[0]};
  graph.node(b).inputs = {late};
  const std::string text = to_text(graph);
  EXPECT_EQ(text, "input x : f32[3]\ninput late : f32[3]\nb : f32[3] = relu(late)\na : f32[3] = relu(b)\n");
  EXPECT_EQ(to_text(parse_graph(text, op_table())), text);
}

TEST(GraphText, RefusalsNameLineFoundAndWanted) {
  const std::string head = "input x : f32[2,3]\n";
  EXPECT_EQ(refusal_of(head + "y : f32[2,3] = rlu(x)"), "line 2: graph: there is no op 'rlu' (wanted by 'y')");
  EXPECT_EQ(refusal_of(head + "\n\ny : f32[2,3] = relu(z)"), "line 4: there is no value 'z' above this line");
  EXPECT_EQ(refusal_of(head + "y : f32[3,2] = relu(x)"),
            "line 2: 'y' is declared as f32[3,2], but relu makes f32[2,3]");
  EXPECT_EQ(refusal_of(head + "y, z : f32[2,3], f32[2,3] = relu(x)"),
            "line 2: found 2 names, wanted one for each of the 1 outputs of relu");
  EXPECT_EQ(refusal_of(head + "x : f32[2,3] = relu(x)"), "line 2: there are two values named 'x'");
  EXPECT_EQ(refusal_of(head + "y, y : f32[2,3], f32[2,3] = relu(x)"), "line 2: there are two values named 'y'");
  EXPECT_EQ(refusal_of("w : f32[2,3]"),
            "line 1: 'w' has no op: wanted one name with a role, as in 'parameter w : f32[3]'");
  EXPECT_EQ(refusal_of("weight w : f32[2,3]"),
            "line 1: found 'weight' before a name, wanted a role such as input, parameter or gradient");
  EXPECT_EQ(refusal_of("input x : f16[2]"), "line 1: found the type 'f16', wanted f32, bf16, f64, i32 or u8");
  EXPECT_EQ(refusal_of("input x : f32[2"), "line 1: found the end of the line, wanted ']'");
  EXPECT_EQ(refusal_of("input x f32[2]"), "line 1: found 'f32[2]', wanted ':'");
  EXPECT_EQ(refusal_of(head + "y : f32[2,3] = relu(x) {slope=0.1}"), "line 2: relu: there is no attribute 'slope'");
  EXPECT_EQ(refusal_of(head + "y : f32[2,3] = relu(x) extra"), "line 2: found 'extra', wanted the end of the line");
}

TEST(GraphText, HostileTextIsRefused) {
  const std::string head = "input x : f32[2,3]\n";
  for (const std::string_view tail : {"input y : f32[99999999999999999999]",
                                      "input y : f32[-1]",
                                      "input y : f32[1,1,1,1,1,1,1]",
                                      "input y : f32[4294967296,4294967296]",
                                      "input y : f32[1e3]",
                                      "input y : f32[,]",
                                      "input y : f32[2]dense",
                                      "input y : f32[2]pooled(p:-1)",
                                      "input y : f32[2]pooled(p:2147483648)",
                                      "y : f32[2,3] = relu(x",
                                      "y : f32[2,3] = relu(x,)",
                                      "y : f32[2,3] = relu()",
                                      "y : f32[2,3] = relu(y)",
                                      "y : f32[2,3] =",
                                      "y :",
                                      ":",
                                      "=",
                                      "input",
                                      "input y",
                                      "input y z : f32[2]",
                                      "y : f32[2,3] = dropout(x) {p=0.5, key=1",
                                      "y : f32[2,3] = dropout(x) {p=0.5, p=0.5, key=1}",
                                      "y : f32[2,3] = dropout(x) {p=, key=1}",
                                      "y : f32[2,3] = dropout(x) {p=1e999, key=1}",
                                      "y : f32[2,3] = dropout(x) {p=0x1, key=1}",
                                      "y : f32[2,3] = dropout(x) {p=0.5, key=99999999999999999999}",
                                      "y : f32[2,3] = dropout(x) {p=+0.5, key=1}",
                                      "y : f32[2,3] = reshape(x) {shape=\"3,2}",
                                      "y : f32[2,3] = reshape(x) {shape=\"3,2\\",
                                      "y : f32[2,3] = reshape(x) {shape=\"\\x4\"}",
                                      "y : f32[2,3] = reshape(x) {shape=\"\\q\"}",
                                      "y : f32[3,2] = reshape(x) {shape=\"3,99999999999999999999\"}",
                                      "\x01",
                                      "input \xff : f32[2]"}) {
    const std::string message = refusal_of(head + std::string(tail));
    EXPECT_EQ(message.substr(0, 8), "line 2: ") << tail << " gave " << message;
  }
  EXPECT_EQ(refusal_of(head + std::string("\0", 1)).substr(0, 8), "line 2: ");
}

TEST(GraphText, ListsWithoutEndAreCutShort) {
  std::string names = "y", attributes = "a0=1";
  for (int k = 1; k < 1000; ++k) {
    names += ", y" + std::to_string(k);
    attributes += ", a" + std::to_string(k) + "=1";
  }
  EXPECT_EQ(refusal_of(names + " : f32[1]"), "line 1: found more than 64 names before ':'");
  EXPECT_EQ(refusal_of("input x : f32[1]\ny : f32[1] = relu(x) {" + attributes + "}"),
            "line 2: found more than 64 attributes");
}

// Whatever one changed byte does, the answer is a graph that prints and reads back, or a UserError: never a crash or
// another error.
TEST(GraphText, EveryTextWithOneByteChangedIsParsedOrRefused) {
  const RandomKey key = random_key(1, RandomPurpose::test, 0);
  constexpr std::string_view kBytes = "0123456789,:=(){}[]\"\\#. -'xf\n\t\x01\xff";
  int parsed = 0, refused = 0;
  for (std::uint64_t round = 0; round < 5000; ++round) {
    std::string text(kNetwork);
    const std::uint64_t place = random_below(key, 3 * round, text.size());
    text[place] = kBytes[random_below(key, 3 * round + 1, kBytes.size())];
    if (random_below(key, 3 * round + 2, 4) == 0) text.resize(place);
    try {
      const std::string printed = to_text(parse_graph(text, op_table()));
      EXPECT_EQ(to_text(parse_graph(printed, op_table())), printed);
      ++parsed;
    } catch (const UserError&) {
      ++refused;
    }
  }
  EXPECT_GT(parsed, 100);
  EXPECT_GT(refused, 1000);
}

TEST(GraphText, NamesThatCannotBeReadBackAreNotPrinted) {
  Graph graph(op_table());
  graph.add_source("two words", {DType::f32, {1}}, Role::input);
  EXPECT_THROW(to_text(graph), InternalError);
}

}  // namespace
}  // namespace thimble
