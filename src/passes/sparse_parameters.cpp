// Each chosen parameter becomes a slot of one shared pool of non-zeros with a bit mask of positions; its dense form
// exists only while a node reads it. The pool's size is constant, the share of each slot is run-time data in the table.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "passes/passes.h"
#include "passes/rewriter.h"

namespace thimble::passes {
namespace {

std::string shape_word(const Shape& shape) {
  const std::string text = to_text(shape);
  return text.substr(1, text.size() - 2);
}

std::int64_t pool_capacity(const Graph& graph, const PassContext& context) {
  std::int64_t capacity = 0;
  for (const std::string& name : context.sparse_tensors) {
    const ValueId id = graph.find(name);
    ensure(id.is_valid(), "sparse_parameters: there is no parameter '", name, "'");
    capacity += sparse_nonzeros(graph.value(id).type.shape.count(), context.sparsity);
  }
  return capacity;
}

bool run(Graph& graph, const PassContext& context) {
  if (context.sparse_tensors.empty()) return false;
  const std::int64_t capacity = pool_capacity(graph, context);
  const auto slots = static_cast<std::int64_t>(context.sparse_tensors.size());
  Rewriter rewriter(graph);
  Graph& target = rewriter.graph();
  const ValueId table = target.add_source("sparse/table", {DType::i32, {slots + 1}}, Role::structure);
  for (std::int32_t v = 0; v < graph.value_count(); ++v) {
    const Value& value = graph.value(ValueId{v});
    if (value.producer.is_valid()) continue;
    const auto place = std::find(context.sparse_tensors.begin(), context.sparse_tensors.end(), value.name);
    if (place == context.sparse_tensors.end()) {
      rewriter.copy_source(ValueId{v});
      continue;
    }
    const auto slot = place - context.sparse_tensors.begin();
    const ValueId pooled =
        target.add_source(value.name, {value.type.dtype, {capacity}, Layout::pooled}, Role::parameter);
    target.value(pooled).pool = "parameter";
    target.value(pooled).slot = static_cast<int>(slot);
    const ValueId mask =
        target.add_source("mask/" + value.name, {DType::u8, {(value.type.shape.count() + 7) / 8}}, Role::structure);
    const ValueId dense = target.apply("sparse_to_dense", {pooled, mask, table},
                                       {{"slot", static_cast<std::int64_t>(slot)},
                                        {"shape", shape_word(value.type.shape)},
                                        {"dtype", std::string(name_of(value.type.dtype))}},
                                       "dense/" + value.name);
    rewriter.map(ValueId{v}, dense);
  }
  for (const NodeId id : graph.topological_order()) rewriter.copy_node(id);
  graph = rewriter.take();
  return true;
}

}  // namespace

const Pass kSparseParameters = {"sparse_parameters", "hold chosen parameters as pooled non-zeros with bit masks", run};

}  // namespace thimble::passes

namespace thimble {

std::int64_t sparse_nonzeros(std::int64_t count, double sparsity) {
  // The rule of the dynamic-sparse-reparameterization study; 0.1 absorbs the rounding of 1 - s.
  return static_cast<std::int64_t>(std::floor((1.0 - sparsity) * static_cast<double>(count) + 0.1));
}

}  // namespace thimble
