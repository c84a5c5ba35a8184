// Building graphs: names, attributes, order and the messages of what is refused.
#include "ir/graph.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/table.h"

namespace thimble {
namespace {

const Type kImage = {DType::f32, {2, 8, 8, 3}};
const Type kWeight = {DType::f32, {3, 3, 3, 16}};

class GraphTest : public ::testing::Test {
 protected:
  Graph graph{op_table()};
  ValueId x = graph.add_source("x", kImage, Role::input);
  ValueId w = graph.add_source("w", kWeight, Role::parameter);

  std::string refusal_of(std::string_view op, const std::vector<ValueId>& inputs, const Attributes& attributes) {
    try {
      graph.apply(op, inputs, attributes, "y");
    } catch (const UserError& error) {
      return error.what();
    }
    return "nothing was refused";
  }
  std::string name_of_output(NodeId id, std::size_t k) const { return graph.value(graph.node(id).outputs[k]).name; }
};

TEST_F(GraphTest, SourcesKeepWhatTheyWereGivenAndAreFoundByName) {
  EXPECT_EQ(graph.find("w"), w);
  EXPECT_EQ(graph.value(w).type, kWeight);
  EXPECT_EQ(graph.value(w).role, Role::parameter);
  EXPECT_FALSE(graph.value(w).producer.is_valid());
  EXPECT_FALSE(graph.find("nobody").is_valid());
}

TEST_F(GraphTest, TwoSourcesOfOneNameAreRefused) {
  EXPECT_THROW(graph.add_source("x", kImage, Role::input), UserError);
  EXPECT_EQ(graph.value_count(), 2);
}

TEST_F(GraphTest, OutputsAreTypedByInferenceAndKnowTheirProducer) {
  const NodeId pool = graph.add_node("max_pool", {x}, {{"kernel", 2}, {"stride", 2}}, "pool");
  const std::vector<ValueId> outputs = graph.node(pool).outputs;
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(graph.value(outputs[0]).type, (Type{DType::f32, {2, 4, 4, 3}}));
  EXPECT_EQ(graph.value(outputs[1]).type, (Type{DType::u8, {2, 4, 4, 3}}));
  EXPECT_EQ(graph.value(outputs[1]).producer, pool);
  EXPECT_EQ(graph.value(outputs[1]).output_index, 1);
  EXPECT_EQ(name_of_output(pool, 0), "pool");
  EXPECT_EQ(name_of_output(pool, 1), "pool.1");
}

TEST_F(GraphTest, TakenNamesOfNodesGetANumber) {
  const Attributes pool = {{"kernel", 2}, {"stride", 2}};
  graph.add_node("max_pool", {x}, pool, "y");
  const NodeId second = graph.add_node("max_pool", {x}, pool, "y");
  const NodeId third = graph.add_node("relu", {x}, {}, "y");
  const NodeId after_source = graph.add_node("relu", {x}, {}, "w");
  EXPECT_EQ(name_of_output(second, 0), "y_2");
  EXPECT_EQ(name_of_output(second, 1), "y.1_2");
  EXPECT_EQ(name_of_output(third, 0), "y_3");
  EXPECT_EQ(name_of_output(after_source, 0), "w_2");
  EXPECT_EQ(graph.find("y_3"), graph.node(third).outputs[0]);
}

TEST_F(GraphTest, RenamingFreesTheOldName) {
  const ValueId y = graph.apply("relu", {x}, {}, "y");
  graph.rename(y, "z");
  EXPECT_EQ(graph.find("z"), y);
  EXPECT_FALSE(graph.find("y").is_valid());
  EXPECT_THROW(graph.rename(y, "x"), InternalError);
}

TEST_F(GraphTest, MissingAttributesTakeTheirDefaults) {
  const NodeId conv = graph.add_node("conv2d", {x, w}, {{"padding", 1}}, "conv");
  const Attributes wanted = {{"activation", "none"}, {"dilation", 1}, {"groups", 1},
                             {"moments_eps", 0.0},   {"padding", 1},  {"stride", 1}};
  EXPECT_EQ(graph.node(conv).attributes, wanted);
}

TEST_F(GraphTest, AnIntegerServesWhereANumberIsWanted) {
  const NodeId id = graph.add_node("dropout", {x}, {{"p", 0}, {"key", 3}}, "drop");
  EXPECT_EQ(graph.node(id).attributes.number("p"), 0.0);
}

TEST_F(GraphTest, WrongAttributesAreRefusedByName) {
  EXPECT_EQ(refusal_of("conv2d", {x, w}, {{"strides", 2}}), "conv2d: there is no attribute 'strides'");
  EXPECT_EQ(refusal_of("conv2d", {x, w}, {{"stride", 2.5}}),
            "conv2d: attribute 'stride' has the wrong kind of value: 2.5");
  EXPECT_EQ(refusal_of("conv2d", {x, w}, {{"activation", 1}}),
            "conv2d: attribute 'activation' has the wrong kind of value: 1");
  EXPECT_EQ(refusal_of("max_pool", {x}, {{"stride", 2}}), "max_pool: attribute 'kernel' must be given");
}

TEST_F(GraphTest, MessagesNameTheNodeTheFoundAndTheWanted) {
  EXPECT_EQ(refusal_of("convolution", {x, w}, {}), "graph: there is no op 'convolution' (wanted by 'y')");
  EXPECT_EQ(refusal_of("conv2d", {x}, {}), "'y': conv2d: found 1 inputs, wanted 2 to 3");
  EXPECT_EQ(refusal_of("conv2d", {x, w}, {{"stride", 0}}),
            "'y': conv2d: attribute 'stride' is 0, wanted 1 to 16777216");
  EXPECT_EQ(refusal_of("conv2d", {x, w}, {{"groups", 3}}),
            "'y': conv2d: x is [2,8,8,3] and w is [3,3,3,16], wanted 3 x groups 3 channels in x");
  EXPECT_EQ(refusal_of("conv2d", {x, w}, {{"dilation", 4}}),
            "'y': conv2d: the kernel covers 9 elements of the height, wanted at most 8: height 8 and padding 0 on both "
            "sides");
}

TEST_F(GraphTest, ARefusedNodeLeavesTheGraphAsItWas) {
  refusal_of("conv2d", {x}, {});
  EXPECT_EQ(graph.value_count(), 2);
  EXPECT_EQ(graph.node_count(), 0);
  EXPECT_FALSE(graph.find("y").is_valid());
}

TEST_F(GraphTest, AnInputThatDoesNotExistIsOurError) {
  EXPECT_THROW(graph.add_node("relu", {ValueId{99}}, {}, "y"), InternalError);
  EXPECT_THROW(graph.add_node("relu", {ValueId{}}, {}, "y"), InternalError);
}

TEST_F(GraphTest, TopologicalOrderIsTheOrderOfInsertionWhereDataAllowsIt) {
  const NodeId a = graph.add_node("relu", {x}, {}, "a");
  const NodeId b = graph.add_node("relu", {x}, {}, "b");
  const NodeId c = graph.add_node("add", {graph.node(a).outputs[0], graph.node(b).outputs[0]}, {}, "c");
  EXPECT_EQ(graph.topological_order(), (std::vector<NodeId>{a, b, c}));

  // A pass may turn an edge round: now a reads b.
  graph.node(a).inputs = {graph.node(b).outputs[0]};
  EXPECT_EQ(graph.topological_order(), (std::vector<NodeId>{b, a, c}));
}

TEST_F(GraphTest, AValueReadTwiceByOneNodeIsOneDependence) {
  const NodeId a = graph.add_node("relu", {x}, {}, "a");
  const NodeId twice = graph.add_node("add", {graph.node(a).outputs[0], graph.node(a).outputs[0]}, {}, "twice");
  EXPECT_EQ(graph.topological_order(), (std::vector<NodeId>{a, twice}));
}

TEST_F(GraphTest, ACycleIsOurError) {
  const NodeId a = graph.add_node("relu", {x}, {}, "a");
  const NodeId b = graph.add_node("relu", {graph.node(a).outputs[0]}, {}, "b");
  graph.node(a).inputs = {graph.node(b).outputs[0]};
  EXPECT_THROW(graph.topological_order(), InternalError);
}

TEST_F(GraphTest, TypesOfANodeAreThoseOfItsValues) {
  const NodeId conv = graph.add_node("conv2d", {x, w}, {{"padding", 1}}, "conv");
  const Graph::NodeTypes types = graph.types_of(conv);
  EXPECT_EQ(types.in, (std::vector<Type>{kImage, kWeight}));
  EXPECT_EQ(types.out, (std::vector<Type>{{DType::f32, {2, 8, 8, 16}}}));
  EXPECT_EQ(types.query(graph.node(conv)).integer("padding"), 1);
}

}  // namespace
}  // namespace thimble
