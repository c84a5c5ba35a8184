// A gradient of weights that only their update reads is applied where it is made, part by part: it needs no memory of
// its own and does not go there and back. What it is made of has to wait for the last reader of the weights then, and
// sums that are applied part by part are made a little slower than a whole gradient: this is done where the gradient
// takes more memory than what it is made of, as in fully connected layers and on the smallest maps.
#include <algorithm>

#include "passes/passes.h"
#include "passes/rewriter.h"

namespace thimble::passes {
namespace {

struct NamePair {
  std::string_view from, to;
};

// Update ops, and the rules that they apply.
constexpr NamePair kRules[] = {
    {"sgd_update", "sgd"},     {"momentum_update", "momentum"},    {"nesterov_update", "nesterov"},
    {"adamw_update", "adamw"}, {"momentum_open", "momentum_open"}, {"momentum_close", "momentum_close"}};
// Gradients, and what applies them at once.
constexpr NamePair kJoined[] = {{"conv2d_grad_weight", "conv2d_update_weight"},
                                {"norm_conv2d_grad_weight", "norm_conv2d_update_weight"},
                                {"matmul", "linear_update_weight"}};
// How many times as large as what it is made of a gradient must be. Measured: ResNet-50's deepest layers lose time at a
// factor of 3 (batch 16), and none at 20 (batch 2); fully connected layers gain at any.
constexpr std::int64_t kLeastOfConvolutions = 4, kLeastOfMatrices = 1;
// Attributes of the gradient's own tensor, and of its order, which is the only one that is joined.
constexpr std::string_view kDropped[] = {"kernel_height", "kernel_width", "dtype", "transpose_a", "transpose_b"};

// Empty if there is none.
std::string_view name_for(std::span<const NamePair> pairs, std::string_view name) {
  const auto found = std::find_if(pairs.begin(), pairs.end(), [&](const NamePair& pair) { return pair.from == name; });
  return found == pairs.end() ? std::string_view() : found->to;
}

// A product of matrices is one if it is x^T dy.
bool is_weight_gradient(const Node& node) {
  if (name_for(kJoined, node.op->name).empty()) return false;
  return node.op->name != "matmul" ||
         (node.attributes.integer("transpose_a") == 1 && node.attributes.integer("transpose_b") == 0);
}

bool is_worth_it(const Graph& graph, const Node& gradient) {
  std::int64_t operands = 0;  // elements: fusion does not depend on how they are stored
  for (const ValueId input : gradient.inputs) operands += graph.value(input).type.shape.count();
  const std::int64_t least = gradient.op->name == "matmul" ? kLeastOfMatrices : kLeastOfConvolutions;
  return graph.value(gradient.outputs[0]).type.shape.count() >= least * operands;
}

// The gradient that an update applies, if what makes it can. It is the last that an update reads, unless it waits for
// the norm of all.
ValueId swallowed_by(const Graph& graph, const Node& node) {
  if (name_for(kRules, node.op->name).empty()) return {};
  const ValueId gradient = node.inputs.back();
  const NodeId maker = graph.value(gradient).producer;
  const bool is_joined =
      maker.is_valid() && is_weight_gradient(graph.node(maker)) && is_worth_it(graph, graph.node(maker));
  return is_joined ? gradient : ValueId{};
}

void fuse(Rewriter& rewriter, const Node& update, const Node& gradient) {
  Attributes attributes = update.attributes;
  attributes.set("rule", std::string(name_for(kRules, update.op->name)));
  for (const auto& [name, value] : gradient.attributes.items()) {
    if (std::find(std::begin(kDropped), std::end(kDropped), name) == std::end(kDropped)) attributes.set(name, value);
  }
  std::vector<ValueId> in(update.inputs.begin(), update.inputs.end() - 1);
  in.insert(in.end(), gradient.inputs.begin(), gradient.inputs.end());
  rewriter.replace_node(update, name_for(kJoined, gradient.op->name), attributes, rewriter.mapped(in));
}

bool run(Graph& graph, const PassContext&) { return join_with_makers(graph, swallowed_by, fuse); }

}  // namespace

const Pass kFuseUpdate = {"fuse_update", "apply weight gradients where they are computed", run};

}  // namespace thimble::passes
