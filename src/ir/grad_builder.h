// What a gradient rule sees: the forward node, the gradients of its outputs, and a way to add nodes and hand back
// gradients of inputs.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace thimble {

class GradBuilder {
 public:
  // out_gradients[k] is invalid where output k received no gradient; wanted[k] says whether input k needs one.
  GradBuilder(Graph& graph, NodeId forward, std::vector<ValueId> out_gradients, std::vector<bool> wanted);

  ValueId in(int index) const { return graph_.node(forward_).inputs[static_cast<std::size_t>(index)]; }
  ValueId out(int index = 0) const { return graph_.node(forward_).outputs[static_cast<std::size_t>(index)]; }
  ValueId grad(int index = 0) const;  // InternalError if that output received none
  bool has_grad(int index) const { return out_gradients_[static_cast<std::size_t>(index)].is_valid(); }
  bool wants(int input) const { return wanted_[static_cast<std::size_t>(input)]; }
  int input_count() const { return static_cast<int>(wanted_.size()); }
  const Attributes& attributes() const { return graph_.node(forward_).attributes; }
  const Type& type(ValueId id) const { return graph_.value(id).type; }

  // Adds a backward node; its outputs are gradients, named after the forward node's output.
  std::vector<ValueId> apply_all(std::string_view op, std::vector<ValueId> inputs, const Attributes& attributes = {});
  ValueId apply(std::string_view op, std::vector<ValueId> inputs, const Attributes& attributes = {});

  void give(int input, ValueId gradient);  // at most once an input, and only for wanted ones
  ValueId given(int input) const { return given_[static_cast<std::size_t>(input)]; }

 private:
  Graph& graph_;
  NodeId forward_;
  std::vector<ValueId> out_gradients_;
  std::vector<bool> wanted_;
  std::vector<ValueId> given_;
};

}  // namespace thimble
