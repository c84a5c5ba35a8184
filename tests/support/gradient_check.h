// Builds an op's gradient rule in a small graph and compares it with central differences of the forward reference, all
// in f64.
#pragma once

#include <gtest/gtest.h>

#include "ir/grad_builder.h"
#include "support/op_cases.h"

namespace thimble::testing {

// What a rule gives for one set of inputs, and the objective it is the gradient of: sum(output 0 * weights).
struct RuleResult {
  std::vector<std::optional<Tensor>> gradients;  // by input; none where the rule gave nothing
  bool reads_gradient = false;                   // false for a loss: the objective is output 0 itself
};

inline RuleResult run_rule(const OpCase& c, const GradientRule& rule, const std::vector<Tensor>& in,
                           const Tensor& weights, const std::vector<bool>& wanted) {
  Graph graph(op_table());
  Values values;
  std::vector<ValueId> inputs;
  for (std::size_t k = 0; k < in.size(); ++k) {
    inputs.push_back(graph.add_source(join_text("in", k), in[k].type, Role::input));
    values[inputs.back()] = in[k];
  }
  const NodeId forward = graph.add_node(c.op->name, inputs, c.attributes, "forward");
  std::vector<ValueId> out_gradients(graph.node(forward).outputs.size());
  out_gradients[0] = graph.add_source("weights", weights.type, Role::gradient);
  values[out_gradients[0]] = weights;
  GradBuilder builder(graph, forward, out_gradients, wanted);
  rule.build(builder);
  run_graph(graph, values, kTestScalars);

  RuleResult result;
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    const std::vector<ValueId>& reads = graph.node(NodeId{n}).inputs;
    result.reads_gradient |= std::find(reads.begin(), reads.end(), out_gradients[0]) != reads.end();
  }
  for (std::size_t k = 0; k < in.size(); ++k) {
    const ValueId given = builder.given(static_cast<int>(k));
    result.reads_gradient |= given == out_gradients[0];
    result.gradients.push_back(given.is_valid() ? std::optional(values.at(given)) : std::nullopt);
  }
  return result;
}

inline std::vector<bool> floating_inputs(const OpCase& c) {
  std::vector<bool> wanted;
  for (const Type& type : c.in) wanted.push_back(is_floating(type.dtype));
  return wanted;
}

// A point, and directions to leave it in.
class Objective {
 public:
  Objective(const OpCase& c, const std::vector<Tensor>& point, Tensor weights)
      : case_(c), point_(point), weights_(std::move(weights)), at_point_(evaluate(point)) {}

  using Direction = std::vector<std::vector<double>>;  // by input and element; empty where an input stays
  Direction nowhere() const { return Direction(point_.size()); }
  Direction along(std::size_t input, std::int64_t element) const {
    Direction direction = nowhere();
    direction[input].resize(static_cast<std::size_t>(point_[input].count()));
    direction[input][static_cast<std::size_t>(element)] = 1;
    return direction;
  }

  // The derivative along a direction. A corner (rectifier, maximum) within the step shows as two sides that disagree:
  // the step is made smaller, and whatever the smallest says is compared. Nothing is ever left out.
  double slope(const Direction& direction) const {
    double central = 0;
    for (const double step : {1e-5, 1e-6, 1e-7}) {
      const double right = (evaluate(moved(direction, step)) - at_point_) / step;
      const double left = (at_point_ - evaluate(moved(direction, -step))) / step;
      central = (right + left) / 2;
      if (std::abs(right - left) <= 1e-3 * std::max(1.0, std::abs(central))) break;
    }
    return central;
  }

 private:
  double evaluate(std::vector<Tensor> in) const {
    const Tensor out = run_op(*case_.op, case_.attributes, std::move(in), kTestScalars)[0];
    double sum = 0;
    for (std::int64_t i = 0; i < out.count(); ++i) sum += out.at(i) * weights_.at(i);
    return sum;
  }
  std::vector<Tensor> moved(const Direction& direction, double step) const {
    std::vector<Tensor> in = point_;
    for (std::size_t k = 0; k < in.size(); ++k) {
      for (std::size_t i = 0; i < direction[k].size(); ++i) {
        const auto element = static_cast<std::int64_t>(i);
        if (direction[k][i] != 0) in[k].set(element, in[k].at(element) + step * direction[k][i]);
      }
    }
    return in;
  }

  const OpCase& case_;
  const std::vector<Tensor>& point_;
  Tensor weights_;
  double at_point_;
};

// Truncation is about 1e-10 and rounding about 1e-9 for sums of this size; a wrong term shows at 1e-3 and more.
inline constexpr double kGradientTolerance = 1e-6;

inline void expect_slope(double expected, double found, const std::string& where) {
  EXPECT_NEAR(found, expected, kGradientTolerance * std::max(1.0, std::abs(expected))) << where;
}

// Every element of small inputs, a random choice of larger ones.
inline void check_elements(const Objective& objective, const std::vector<std::optional<Tensor>>& gradients) {
  constexpr std::uint64_t kMostElements = 48;
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    if (!gradients[k]) continue;
    const auto count = static_cast<std::uint64_t>(gradients[k]->count());
    for (std::uint64_t n = 0; n < std::min(count, kMostElements); ++n) {
      const auto element = static_cast<std::int64_t>(random_permuted({1, 2}, n, count));
      expect_slope(objective.slope(objective.along(k, element)), gradients[k]->at(element),
                   join_text("input ", k, " element ", element));
    }
  }
}

// Directions that move every element of every input at once see the rest.
inline void check_directions(const Objective& objective, const std::vector<std::optional<Tensor>>& gradients) {
  for (std::uint64_t n = 0; n < 4; ++n) {
    Objective::Direction direction = objective.nowhere();
    double expected = 0;
    for (std::size_t k = 0; k < gradients.size(); ++k) {
      if (!gradients[k]) continue;
      for (std::int64_t i = 0; i < gradients[k]->count(); ++i) {
        direction[k].push_back(0.5 - static_cast<double>(random_uniform(random_key(n, RandomPurpose::test, k),
                                                                        static_cast<std::uint64_t>(i))));
        expected += direction[k].back() * gradients[k]->at(i);
      }
    }
    expect_slope(objective.slope(direction), expected, join_text("random direction ", n));
  }
}

inline void check_gradient(const OpCase& c, const GradientRule& rule) {
  const std::vector<Tensor> in = usable_inputs(c, 5);
  Tensor weights = random_tensor(c.out()[0], {3, 4}, Signs::mixed);
  const RuleResult result = run_rule(c, rule, in, weights, floating_inputs(c));
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!is_floating(c.in[k].dtype)) continue;
    ASSERT_TRUE(result.gradients[k]) << "the rule gives no gradient for input " << k;
    ASSERT_EQ(to_text(result.gradients[k]->type), to_text(c.in[k])) << "input " << k;
  }
  if (!result.reads_gradient)
    weights = Tensor(weights.type, std::vector<double>(static_cast<std::size_t>(weights.count()), 1.0));
  const Objective objective(c, in, weights);
  check_elements(objective, result.gradients);
  check_directions(objective, result.gradients);
}

}  // namespace thimble::testing
