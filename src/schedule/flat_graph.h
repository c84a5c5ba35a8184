// What making a schedule asks of a graph and its kernels, as plain tables by index: a search makes tens of thousands of
// schedules of one graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "select/select.h"

namespace thimble {

struct FlatNode {
  std::int32_t first_operand = 0;  // into FlatGraph::operands: inputs, then outputs, as values
  std::int16_t input_count = 0;
  std::int16_t output_count = 0;
  std::int32_t first_pair = 0;  // into FlatGraph::pairs; what an update overwrites, what another may overwrite
  std::int16_t pair_count = 0;
  bool is_update = false;
  bool is_view = false;
  bool is_cloneable = false;  // may run again: it changes nothing that outlives the phase
  double seconds = 0;
  double flops = 0;
  Bytes workspace = 0;
};

struct FlatValue {
  std::int32_t producer = -1;
  Bytes bytes = 0;
  bool is_persistent = false;
  bool is_gradient = false;
  bool is_overwritten = false;  // by an update
};

struct FlatGraph {
  explicit FlatGraph(const Selected& selected);

  std::vector<FlatNode> nodes;
  std::vector<FlatValue> values;
  std::vector<std::int32_t> operands;
  std::vector<InPlacePair> pairs;

  std::span<const std::int32_t> inputs(const FlatNode& node) const {
    return {operands.data() + node.first_operand, static_cast<std::size_t>(node.input_count)};
  }
  std::span<const std::int32_t> outputs(const FlatNode& node) const {
    return {operands.data() + node.first_operand + node.input_count, static_cast<std::size_t>(node.output_count)};
  }
  std::span<const InPlacePair> pairs_of(const FlatNode& node) const {
    return {pairs.data() + node.first_pair, static_cast<std::size_t>(node.pair_count)};
  }
};

}  // namespace thimble
