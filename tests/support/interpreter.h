// Runs graphs, and single ops, by their references: one new tensor a value, nothing in place. The plain truth that
// tests compare with.
#pragma once

#include <limits>
#include <map>

#include "base/error.h"
#include "ir/graph.h"
#include "ops/table.h"
#include "support/tensor.h"

namespace thimble::testing {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline std::vector<Type> types_of(const std::vector<Tensor>& tensors) {
  std::vector<Type> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type);
  return types;
}

// Attributes must be complete. Outputs start as copies of `fill`, so that an element the reference forgets can be seen.
inline std::vector<Tensor> run_op(const OpDef& op, const Attributes& attributes, std::vector<Tensor> in,
                                  const RunScalars& scalars, std::byte fill = std::byte{0}) {
  const std::vector<Type> in_types = types_of(in), out_types = op.infer({in_types, {}, &attributes});
  std::vector<Tensor> out;
  for (const Type& type : out_types) out.emplace_back(type, fill);
  if (op.is_view) {
    out[0].bytes = in[0].bytes;
    return out;
  }
  const std::vector<TensorView> in_views = views_of(in), out_views = views_of(out);
  op.reference({in_types, out_types, &attributes}, {.in = in_views, .out = out_views, .scalars = &scalars});
  return out;
}

// The same by name, with defaults for missing attributes.
inline std::vector<Tensor> run_op(std::string_view name, const Attributes& attributes, std::vector<Tensor> in,
                                  const RunScalars& scalars = {}) {
  const OpDef* op = find_op(op_table(), name);
  ensure(op != nullptr, "there is no op '", name, "'");
  return run_op(*op, complete_attributes(*op, attributes), std::move(in), scalars);
}

// What the user is told if the op refuses.
inline std::string refusal(std::string_view op, const Attributes& attributes, const std::vector<Tensor>& in) {
  try {
    run_op(op, attributes, in);
  } catch (const UserError& error) {
    return error.what();
  }
  return "taken";
}

using Values = std::map<ValueId, Tensor>;

// Fills in what every node makes; `values` holds the sources that are read.
inline void run_graph(const Graph& graph, Values& values, const RunScalars& scalars) {
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    std::vector<Tensor> in;
    for (const ValueId input : node.inputs) {
      const auto found = values.find(input);
      ensure(found != values.end(), "interpreter: '", graph.value(input).name, "' has no tensor");
      in.push_back(found->second);
    }
    std::vector<Tensor> out = run_op(*node.op, node.attributes, std::move(in), scalars);
    for (std::size_t k = 0; k < out.size(); ++k) values[node.outputs[k]] = std::move(out[k]);
  }
}

}  // namespace thimble::testing
