// What a parameter's gradient becomes in each phase: the form follows from the rule and the phase alone.
#include <cmath>

#include "base/error.h"
#include "grad/networks.h"

namespace thimble::testing {
namespace {

constexpr OptimizerKind kEvery[] = {OptimizerKind::sgd, OptimizerKind::momentum, OptimizerKind::nesterov,
                                    OptimizerKind::adamw};

DifferentiateOptions with(OptimizerKind kind) { return {.optimizer = {.kind = kind, .weight_decay = 0.01}}; }

std::vector<std::string> names_of(const Graph& graph, Role role) {
  std::vector<std::string> names;
  for (ValueId id{0}; id.index < graph.value_count(); ++id.index) {
    if (graph.value(id).role == role && graph.storage_of(id) == id) names.push_back(graph.value(id).name);
  }
  return names;
}

std::string op_updating(const Training& training, const std::string& name) {
  const NodeId id = update_of(training.graph, name);
  return id.is_valid() ? std::string(training.graph.node(id).op->name) : "nothing";
}

TEST(Updates, OneStateATensorForMomentumTwoForAdamwNoneForSgd) {
  EXPECT_EQ(names_of(train_graph(two_layers(), {4}, with(OptimizerKind::sgd)).graph, Role::optimizer).size(), 0U);
  EXPECT_EQ(names_of(train_graph(two_layers(), {4}, with(OptimizerKind::nesterov)).graph, Role::optimizer).size(), 4U);
  EXPECT_EQ(names_of(train_graph(two_layers(), {4}, with(OptimizerKind::adamw)).graph, Role::optimizer).size(), 8U);
  EXPECT_EQ(state_names(OptimizerKind::adamw, "w"), (std::vector<std::string>{"first_moment/w", "second_moment/w"}));
}

TEST(Updates, AWholeBatchNeedsNoAccumulator) {
  for (const OptimizerKind kind : kEvery) {
    const Training training = train_graph(two_layers(), {4}, with(kind));
    EXPECT_TRUE(names_of(training.graph, Role::accumulator).empty()) << name_of(kind);
    EXPECT_EQ(op_updating(training, "fc1.weight"), std::string(name_of(kind)) + "_update");
  }
}

TEST(Updates, HeavyBallMomentumGathersMicrobatchesInItsOwnState) {
  const auto in = [](bool opens, bool closes) {
    return train_graph(two_layers(), {4, opens, closes, true}, with(OptimizerKind::momentum));
  };
  for (const auto& [opens, closes] : {std::pair{true, false}, {false, false}, {false, true}}) {
    EXPECT_TRUE(names_of(in(opens, closes).graph, Role::accumulator).empty());
  }
  EXPECT_EQ(op_updating(in(true, false), "momentum/fc1.weight"), "momentum_open");
  EXPECT_EQ(op_updating(in(true, false), "fc1.weight"), "nothing");
  EXPECT_EQ(op_updating(in(false, false), "momentum/fc1.weight"), "accumulate");
  EXPECT_EQ(op_updating(in(false, false), "fc1.weight"), "nothing");
  EXPECT_EQ(op_updating(in(false, true), "fc1.weight"), "momentum_close");
}

TEST(Updates, OtherRulesHaveOneAccumulatorATensorAndUpdateInTheLastPhaseOnly) {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::nesterov, OptimizerKind::adamw}) {
    for (const auto& [opens, closes] : {std::pair{true, false}, {false, false}, {false, true}}) {
      const Training training = train_graph(two_layers(), {4, opens, closes, true}, with(kind));
      EXPECT_EQ(names_of(training.graph, Role::accumulator).size(), 4U) << name_of(kind);
      EXPECT_TRUE(training.graph.find("sum/fc2.bias").is_valid());
      EXPECT_EQ(op_updating(training, "fc2.bias"), closes ? std::string(name_of(kind)) + "_update" : "nothing");
    }
  }
}

std::vector<NodeId> nodes_of(const Graph& graph, std::string_view op) {
  std::vector<NodeId> nodes;
  for (NodeId id{0}; id.index < graph.node_count(); ++id.index) {
    if (graph.node(id).op->name == op) nodes.push_back(id);
  }
  return nodes;
}

DifferentiateOptions clipped(OptimizerKind kind) {
  DifferentiateOptions options = with(kind);
  options.optimizer.clip_norm = 0.25;
  return options;
}

// The last input of every update is one scale, made from the norms of all that the updates read, and of nothing else.
TEST(Clipping, EveryUpdateReadsOneScaleMadeFromEveryGradient) {
  for (const OptimizerKind kind : kEvery) {
    for (const Phase& phase : {Phase{4}, Phase{4, false, true, true}}) {
      const Training training = train_graph(two_layers(), phase, clipped(kind));
      const Graph& graph = training.graph;
      const std::vector<NodeId> scales = nodes_of(graph, "clip_scale");
      ASSERT_EQ(scales.size(), 1U);
      std::vector<ValueId> measured, updated;
      for (const ValueId norm : graph.node(scales[0]).inputs) {
        measured.push_back(graph.node(graph.value(norm).producer).inputs[0]);
      }
      for (const std::string& name : parameters_of(graph)) {
        const std::vector<ValueId>& inputs = graph.node(update_of(graph, name)).inputs;
        EXPECT_EQ(inputs.back(), graph.node(scales[0]).outputs[0]);
        updated.push_back(inputs[inputs.size() - 2]);
        EXPECT_EQ(graph.value(updated.back()).type.shape, graph.value(graph.find(name)).type.shape);
      }
      std::sort(measured.begin(), measured.end());
      std::sort(updated.begin(), updated.end());
      EXPECT_EQ(measured, updated) << name_of(kind);
      EXPECT_EQ(updated.size(), 4U);
      EXPECT_EQ(graph.value(graph.find(kGradientNorm)).role, Role::metric);
    }
  }
}

TEST(Clipping, MicrobatchesGatherInAccumulatorsWhateverTheRule) {
  for (const OptimizerKind kind : kEvery) {
    for (const auto& [opens, closes] : {std::pair{true, false}, {false, false}, {false, true}}) {
      const Training training = train_graph(two_layers(), {4, opens, closes, true}, clipped(kind));
      EXPECT_EQ(names_of(training.graph, Role::accumulator).size(), 4U) << name_of(kind);
      EXPECT_EQ(op_updating(training, "fc1.weight"), closes ? std::string(name_of(kind)) + "_update" : "nothing");
      EXPECT_EQ(nodes_of(training.graph, "clip_scale").size(), closes ? 1U : 0U);
    }
  }
}

TEST(Clipping, AWholeBatchUsesAccumulatorsOnlyIfOtherPhasesHaveThem) {
  for (const bool has_accumulators : {false, true}) {
    DifferentiateOptions options = clipped(OptimizerKind::momentum);
    options.has_accumulators = has_accumulators;
    const Training training = train_graph(two_layers(), {4}, options);
    EXPECT_EQ(names_of(training.graph, Role::accumulator).size(), has_accumulators ? 4U : 0U);
    EXPECT_EQ(op_updating(training, "fc1.weight"), "momentum_update");
  }
}

TEST(Updates, VectorsAreSparedTheDecayIfAsked) {
  for (const bool decay_vectors : {true, false}) {
    DifferentiateOptions options = with(OptimizerKind::momentum);
    options.optimizer.decay_vectors = decay_vectors;
    const Graph graph = train_graph(two_layers(), {4}, options).graph;
    const auto decay = [&](const std::string& name) {
      return graph.node(update_of(graph, name)).attributes.number("weight_decay");
    };
    EXPECT_EQ(decay("fc1.weight"), 0.01);
    EXPECT_EQ(decay("fc1.bias"), decay_vectors ? 0.01 : 0.0);
  }
}

TEST(Updates, StatesOfBf16ParametersTakeTheStatedType) {
  std::string text = two_layers();
  for (const std::string name : {"fc1.weight : f32", "fc1.bias : f32", "fc2.weight : f32", "fc2.bias : f32"}) {
    text.replace(text.find(name), name.size(), name.substr(0, name.size() - 3) + "bf16");
  }
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Graph graph = train_graph(text, {4}, {.optimizer = {}, .state_dtype = dtype}).graph;
    EXPECT_EQ(graph.value(graph.find("momentum/fc1.weight")).type.dtype, dtype);
    EXPECT_EQ(graph.node(update_of(graph, "fc1.weight")).attributes.word("rounding"), "stochastic");
  }
}

// Persistent values after an iteration over six samples in pieces of `sizes`, by the references.
std::map<std::string, Tensor> iteration_of(const std::vector<std::int64_t>& sizes,
                                           const DifferentiateOptions& options) {
  std::map<std::string, Tensor> state;
  std::int64_t first = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    std::string text = two_layers();
    for (std::size_t at; (at = text.find("[4")) != std::string::npos;) text[at + 1] = static_cast<char>('0' + sizes[k]);
    const Training training = train_graph(text, {sizes[k], k == 0, k + 1 == sizes.size(), true}, options);
    const Graph& graph = training.graph;
    Values values = fill_sources(graph);
    for (auto& [id, tensor] : values) {
      if (state.contains(graph.value(id).name)) tensor = state.at(graph.value(id).name);
    }
    Tensor& images = values.at(graph.find("images"));
    for (std::int64_t i = 0; i < images.count(); ++i) images.set(i, std::sin(static_cast<double>(first * 6 + i)));
    Tensor& labels = values.at(graph.find("labels"));
    for (std::int64_t i = 0; i < labels.count(); ++i) labels.set(i, static_cast<double>((first + i) % 3));
    run_graph(graph, values, {.inverse_batch = 1.0F / 6, .learning_rate = 0.5F});
    for (const auto& [id, tensor] : values) {
      const Value& storage = graph.value(graph.storage_of(id));
      const bool is_newest = graph.storage_of(id) != id || !state.contains(storage.name) || storage.producer.is_valid();
      const bool is_state = is_persistent(storage.role) && storage.role != Role::metric;
      if ((is_state && is_newest) || storage.name == kGradientNorm) state[storage.name] = tensor;
    }
    first += sizes[k];
  }
  return state;
}

TEST(Updates, MicrobatchesEndInTheParametersOfTheWholeBatch) {
  for (const OptimizerKind kind : kEvery) {
    for (const DifferentiateOptions& options : {with(kind), clipped(kind)}) {
      const auto whole = iteration_of({6}, options), parts = iteration_of({2, 1, 2, 1}, options);
      for (const char* name : {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}) {
        for (std::int64_t i = 0; i < whole.at(name).count(); ++i) {
          // Sums in another order: a few roundings of f32. Adamw divides by a root near zero, where those grow.
          EXPECT_NEAR(parts.at(name).at(i), whole.at(name).at(i), kind == OptimizerKind::adamw ? 1e-4 : 1e-6)
              << name_of(kind) << " " << name << " " << i;
        }
      }
    }
  }
}

// Plain descent without decay moves by learning rate times gradient, so the gradients can be read off the weights.
TEST(Clipping, GradientsTogetherComeDownToTheLimitAndKeepTheirDirection) {
  DifferentiateOptions options{.optimizer = {.kind = OptimizerKind::sgd}};
  const auto free = iteration_of({6}, options);
  options.optimizer.clip_norm = 0.25;
  const auto clipped_run = iteration_of({6}, options);
  options.optimizer.clip_norm = 1e6;
  const auto loose = iteration_of({6}, options);
  const Graph graph = parse_graph(two_layers(), op_table());
  const Values start = fill_sources(graph);
  double squares = 0, free_squares = 0;
  for (const char* name : {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}) {
    for (std::int64_t i = 0; i < free.at(name).count(); ++i) {
      const double origin = start.at(graph.find(name)).at(i);
      free_squares += std::pow((free.at(name).at(i) - origin) / 0.5, 2);
      squares += std::pow((clipped_run.at(name).at(i) - origin) / 0.5, 2);
      EXPECT_EQ(loose.at(name).at(i), free.at(name).at(i)) << "below the limit nothing changes";
    }
  }
  const double norm = std::sqrt(free_squares);
  ASSERT_GT(norm, 0.4) << "the limit must bite for this test to say anything";
  EXPECT_NEAR(std::sqrt(squares), 0.25, 1e-5);
  EXPECT_NEAR(clipped_run.at(std::string(kGradientNorm)).at(0), norm, 1e-5 * norm);
  EXPECT_NEAR(loose.at(std::string(kGradientNorm)).at(0), norm, 1e-5 * norm);
  for (std::int64_t i = 0; i < free.at("fc1.weight").count(); ++i) {
    const double origin = start.at(graph.find("fc1.weight")).at(i);
    EXPECT_NEAR(clipped_run.at("fc1.weight").at(i) - origin, 0.25 / norm * (free.at("fc1.weight").at(i) - origin),
                1e-6);
  }
}

TEST(Optimizer, NamesReadBackAndOthersAreRefused) {
  for (const OptimizerKind kind : kEvery) EXPECT_EQ(optimizer_from_name(name_of(kind)), kind);
  EXPECT_THROW(optimizer_from_name("adam"), UserError);
}

}  // namespace
}  // namespace thimble::testing
