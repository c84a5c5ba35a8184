// What is computed: values and the nodes that make them, for a fixed microbatch. No order beyond data dependence, no
// memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/attributes.h"
#include "base/type.h"
#include "ir/op_def.h"

namespace thimble {

struct ValueId {
  std::int32_t index = -1;
  bool is_valid() const { return index >= 0; }
  friend auto operator<=>(const ValueId&, const ValueId&) = default;
};

struct NodeId {
  std::int32_t index = -1;
  bool is_valid() const { return index >= 0; }
  friend auto operator<=>(const NodeId&, const NodeId&) = default;
};

// What a value is for; decides its category in the memory report and whether it outlives an iteration.
enum class Role : std::uint8_t {
  activation,   // made by a forward node
  gradient,     // made by a backward node
  input,        // a batch of samples, filled by the loader before the phase
  label,        // their labels
  parameter,    // persistent, trained
  optimizer,    // persistent: momentum, moments
  accumulator,  // persistent from the first to the last microbatch of an iteration
  statistic,    // persistent: running mean and variance
  structure,    // persistent: sparse positions, tables
  metric,       // persistent: loss and hits summed over the batch, read by the host
};

std::string_view name_of(Role role);
constexpr bool is_persistent(Role role) {
  return role != Role::activation && role != Role::gradient && role != Role::input && role != Role::label;
}

struct Value {
  std::string name;  // unique in the graph
  Type type;
  Role role = Role::activation;
  NodeId producer;       // invalid: given from outside
  int output_index = 0;  // which output of the producer
  std::string pool;      // pooled values only: the pool that holds this value ...
  int slot = 0;          // ... and its slot there
};

struct Node {
  const OpDef* op = nullptr;
  Attributes attributes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
};

class Graph {
 public:
  explicit Graph(OpTable ops) : ops_(ops) {}

  OpTable ops() const { return ops_; }

  // A value that comes from outside: input, label or anything persistent.
  ValueId add_source(std::string_view name, Type type, Role role);

  // A node; output types are inferred, missing attributes take their defaults. Output 0 is named `name`, output k
  // `name.k`; if the name is taken a number is appended. UserError if the op does not exist or refuses its inputs.
  NodeId add_node(std::string_view op, std::vector<ValueId> inputs, const Attributes& attributes, std::string_view name,
                  Role role = Role::activation);
  // The same, returning output 0.
  ValueId apply(std::string_view op, std::vector<ValueId> inputs, const Attributes& attributes, std::string_view name,
                Role role = Role::activation);

  const Value& value(ValueId id) const { return values_[static_cast<std::size_t>(id.index)]; }
  Value& value(ValueId id) { return values_[static_cast<std::size_t>(id.index)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id.index)]; }
  Node& node(NodeId id) { return nodes_[static_cast<std::size_t>(id.index)]; }
  std::int32_t value_count() const { return static_cast<std::int32_t>(values_.size()); }
  std::int32_t node_count() const { return static_cast<std::int32_t>(nodes_.size()); }
  ValueId find(std::string_view name) const;  // invalid if there is none

  // Ids of the nodes in a topological order: the order of insertion where data allows it, which passes may have
  // disturbed.
  std::vector<NodeId> topological_order() const;

  // The use of a node's op, as infer, flops, kernels and references want it. Refers to the graph: do not keep across
  // edits.
  struct NodeTypes {
    std::vector<Type> in, out;
    OpQuery query(const Node& node) const { return {in, out, &node.attributes}; }
  };
  NodeTypes types_of(NodeId id) const;

  void rename(ValueId id, std::string_view name);

  // For an update's output: the persistent value whose storage it takes over, through chains of updates. Any other
  // value: itself.
  ValueId storage_of(ValueId id) const;

 private:
  std::string unique_name(std::string_view name) const;

  OpTable ops_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::unordered_map<std::string, ValueId> by_name_;
};

}  // namespace thimble
