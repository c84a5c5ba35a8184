// Training graphs to search over: chains of equal layers, for which bounds are known, and small networks of the zoo.
#pragma once

#include <algorithm>

#include "compile/recipe.h"
#include "grad/differentiate.h"
#include "models/model.h"
#include "ops/table.h"
#include "search/evaluate.h"
#include "search/front.h"
#include "search/strategies.h"
#include "support/select_references.h"

namespace thimble::testing {

// What one layer of a chain keeps; its weights are a two hundred and fifty-sixth of that.
inline constexpr std::int64_t kChainSamples = 4096, kChainWidth = 16;
inline constexpr Bytes kLayerBytes = kChainSamples * kChainWidth * 4;

// `layers` linear layers with rectifiers, all of one width: backward reads every layer's output.
inline Selected chain_of(int layers) {
  Graph graph(op_table());
  ValueId x = graph.add_source(kImages, {DType::f32, {kChainSamples, kChainWidth}}, Role::input);
  const ValueId labels = graph.add_source(kLabels, {DType::i32, {kChainSamples}}, Role::label);
  for (int k = 0; k < layers; ++k) {
    const std::string name = "layer" + std::to_string(k);
    const ValueId weight =
        graph.add_source(name + ".weight", {DType::f32, {kChainWidth, kChainWidth}}, Role::parameter);
    x = graph.apply("linear", {x, weight}, {{"activation", "relu"}}, name);
  }
  const NodeId loss = graph.add_node("softmax_cross_entropy", {x, labels}, {}, kLoss);
  graph.rename(graph.node(loss).outputs[1], kHits);
  return select_references(differentiate(graph, {.samples = kChainSamples}, {}));
}

inline Selected network(const std::string& name, std::int64_t samples, const Shape& sample, double clip_norm = 0) {
  Graph graph = build_model({.name = name, .samples = samples, .sample = sample, .classes = 5}, op_table()).graph;
  run_passes(graph, forward_recipe(), {}, {});
  DifferentiateOptions options;
  options.optimizer.clip_norm = clip_norm;
  Training training = differentiate(graph, {.samples = samples}, options);
  run_passes(training.graph, training_recipe(), {}, {});
  return select_references(std::move(training));
}

// Whether a front has a point that is as good, but for points that are left out since they are hardly smaller than a
// faster one.
inline bool is_matched(const std::vector<FrontPoint>& front, Bytes bytes, double seconds) {
  return std::any_of(front.begin(), front.end(), [&](const FrontPoint& point) {
    return point.live_bytes - point.live_bytes / kFrontStep <= bytes && point.seconds <= seconds;
  });
}

}  // namespace thimble::testing
