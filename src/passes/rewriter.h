// Copies a graph node by node; a pass replaces what it wants on the way. Names, roles and pool slots are carried over.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace thimble {

class Rewriter {
 public:
  explicit Rewriter(const Graph& old);

  Graph& graph() { return new_; }
  ValueId mapped(ValueId old) const;  // InternalError if it has no counterpart yet
  std::vector<ValueId> mapped(const std::vector<ValueId>& old) const;
  void map(ValueId old, ValueId replacement);

  ValueId copy_source(ValueId old);
  void copy_sources();           // all of them
  NodeId copy_node(NodeId old);  // inputs mapped, outputs renamed to what they were called
  // As copy_node but with other attributes, and with other inputs of the new graph.
  NodeId copy_node(NodeId old, const Attributes& attributes);
  NodeId copy_node(NodeId old, const Attributes& attributes, const std::vector<ValueId>& inputs);
  // Another op whose outputs take the place of the old node's.
  NodeId replace_node(const Node& old, std::string_view op, const Attributes& attributes,
                      const std::vector<ValueId>& inputs);

  Graph take() { return std::move(new_); }

 private:
  const Graph& old_;
  Graph new_;
  std::vector<ValueId> map_;
};

// Whether a pass finds anything to do: a graph that stays as it is need not be copied.
template <typename Wanted>
bool any_node(const Graph& graph, Wanted&& is_wanted) {
  for (NodeId id{0}; id.index < graph.node_count(); ++id.index) {
    if (is_wanted(graph.node(id))) return true;
  }
  return false;
}

// How many nodes read each value.
std::vector<int> reader_counts(const Graph& graph);

// Joins nodes with the one that makes what they alone read: wanted(graph, node) is that input, or invalid;
// fuse(rewriter, node, its maker) makes what takes the place of both. What is persistent, or has other readers, stays.
// Whether there was any.
bool join_with_makers(Graph& graph, ValueId (*wanted)(const Graph&, const Node&),
                      void (*fuse)(Rewriter&, const Node&, const Node&));

}  // namespace thimble
