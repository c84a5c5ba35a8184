#include "ir/grad_builder.h"

#include "base/error.h"

namespace thimble {

GradBuilder::GradBuilder(Graph& graph, NodeId forward, std::vector<ValueId> out_gradients, std::vector<bool> wanted)
    : graph_(graph),
      forward_(forward),
      out_gradients_(std::move(out_gradients)),
      wanted_(std::move(wanted)),
      given_(wanted_.size()) {}

ValueId GradBuilder::grad(int index) const {
  const ValueId id = out_gradients_[static_cast<std::size_t>(index)];
  ensure(id.is_valid(), graph_.node(forward_).op->name, ": output ", index, " received no gradient");
  return id;
}

std::vector<ValueId> GradBuilder::apply_all(std::string_view op, std::vector<ValueId> inputs,
                                            const Attributes& attributes) {
  const std::string name = "d." + graph_.value(out()).name + "." + std::string(op);
  const NodeId id = graph_.add_node(op, std::move(inputs), attributes, name, Role::gradient);
  return graph_.node(id).outputs;
}

ValueId GradBuilder::apply(std::string_view op, std::vector<ValueId> inputs, const Attributes& attributes) {
  return apply_all(op, std::move(inputs), attributes)[0];
}

void GradBuilder::give(int input, ValueId gradient) {
  const auto index = static_cast<std::size_t>(input);
  ensure(wanted_[index] && !given_[index].is_valid(), graph_.node(forward_).op->name, ": gradient of input ", input,
         " given twice or not wanted");
  ensure(graph_.value(gradient).type.shape == graph_.value(in(input)).type.shape, graph_.node(forward_).op->name,
         ": gradient of input ", input, " has shape ", graph_.value(gradient).type.shape, ", wanted ",
         graph_.value(in(input)).type.shape);
  given_[index] = gradient;
}

}  // namespace thimble
