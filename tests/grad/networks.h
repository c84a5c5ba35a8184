// Small networks as text, and what a test asks of their training graphs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "grad/differentiate.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ops/table.h"
#include "support/interpreter.h"

namespace thimble::testing {

// Two layers; `first` and `second` are the roles of their tensors: a frozen tensor is one that is no parameter.
inline std::string two_layers(const std::string& first = "parameter", const std::string& second = "parameter",
                              const std::string& last_bias = "parameter") {
  return "input images : f32[4,6]\n"
         "label labels : i32[4]\n" +
         first + " fc1.weight : f32[6,5]\n" + first +
         " fc1.bias : f32[5]\n"
         "fc1 : f32[4,5] = linear(images, fc1.weight, fc1.bias)\n"
         "relu1 : f32[4,5] = relu(fc1)\n" +
         second + " fc2.weight : f32[5,3]\n" + last_bias +
         " fc2.bias : f32[3]\n"
         "logits : f32[4,3] = linear(relu1, fc2.weight, fc2.bias)\n"
         "loss, hits : f32[1], f32[1] = softmax_cross_entropy(logits, labels)\n";
}

inline Training train_graph(const std::string& text, const Phase& phase = {.samples = 4},
                            const DifferentiateOptions& options = {}) {
  Training training = differentiate(parse_graph(text, op_table()), phase, options);
  verify(training.graph);
  return training;
}

// Names of the ops of all nodes behind the forward graph's, sorted.
inline std::vector<std::string> added_ops(const std::string& text, const Training& training) {
  const std::int32_t forward = parse_graph(text, op_table()).node_count();
  std::vector<std::string> ops;
  for (NodeId id{forward}; id.index < training.graph.node_count(); ++id.index)
    ops.emplace_back(training.graph.node(id).op->name);
  std::sort(ops.begin(), ops.end());
  return ops;
}

// The node that writes the next version of a persistent value; invalid if nothing does.
inline NodeId update_of(const Graph& graph, const std::string& name) {
  const ValueId value = graph.find(name);
  for (NodeId id{0}; id.index < graph.node_count(); ++id.index) {
    const Node& node = graph.node(id);
    for (const ValueId output : node.outputs) {
      if (node.op->is_update && graph.storage_of(output) == value) return id;
    }
  }
  return {};
}

inline ValueId gradient_of(const Graph& graph, const std::string& name) {
  return graph.node(update_of(graph, name)).inputs.back();
}

inline std::vector<std::string> parameters_of(const Graph& graph) {
  std::vector<std::string> names;
  for (ValueId id{0}; id.index < graph.value_count(); ++id.index) {
    const Value& value = graph.value(id);
    if (value.role == Role::parameter && !value.producer.is_valid()) names.push_back(value.name);
  }
  return names;
}

// Every source filled with numbers of its own; labels count through three classes, states start at zero.
inline Values fill_sources(const Graph& graph) {
  Values values;
  for (ValueId id{0}; id.index < graph.value_count(); ++id.index) {
    const Value& value = graph.value(id);
    if (value.producer.is_valid()) continue;
    Tensor tensor(value.type);
    const bool is_zero = value.role == Role::optimizer || value.role == Role::accumulator;
    const RandomKey key = random_key(5, RandomPurpose::test, hash_text(value.name.data(), value.name.size()));
    for (std::int64_t i = 0; i < tensor.count() && !is_zero; ++i) {
      const bool is_label = value.role == Role::label;
      tensor.set(i, is_label ? static_cast<double>(i % 3)
                             : 0.7 * static_cast<double>(random_normal(key, static_cast<std::uint64_t>(i))));
    }
    values[id] = std::move(tensor);
  }
  return values;
}

}  // namespace thimble::testing
