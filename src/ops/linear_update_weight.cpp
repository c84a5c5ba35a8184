// Updates the weights of a fully connected layer by their gradient, which is never stored.
#include "ops/example_types.h"
#include "ops/weight_update.h"

namespace thimble::ops::linear_update_weight {
namespace {

constexpr std::string_view kName = "linear_update_weight";

std::vector<Type> infer(const OpQuery& q) {
  std::vector<Type> out = infer_weight_update(kName, q, 2);
  const Type &w = q.in[0], &x = q.in[first_operand(q)], &dy = q.in.back();
  require_rank(kName, "the parameter", w, 2);
  require_rank(kName, "x", x, 2);
  require_rank(kName, "dy", dy, 2);
  require_shape(kName, "x", x, {x.shape[0], w.shape[0]});
  require_shape(kName, "dy", dy, {x.shape[0], w.shape[1]});
  return out;
}

double flops(const OpQuery& q) {
  const auto samples = static_cast<double>(q.in[first_operand(q)].shape[0]);
  return 2.0 * samples * static_cast<double>(q.in[0].shape.count()) + weight_update_flops(q);
}

void reference(const OpQuery& q, const Call& call) noexcept {
  const TensorView &x = call.in[first_operand(q)], &dy = call.in.back();
  const std::int64_t batch = x.shape[0], rows = x.shape[1], columns = dy.shape[1];
  const DenseUpdate update(q, call, *find_rule(q));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      double sum = 0;
      for (std::int64_t b = 0; b < batch; ++b) sum += load(x, b * rows + r) * load(dy, b * columns + c);
      update.apply(r * columns + c, sum);
    }
  }
}

std::vector<Example> examples() {
  return weight_update_examples({{f32({5, 7}), {f32({3, 5}), f32({3, 7})}, {}},
                                 {f32({1, 1}), {f32({1, 1}), f32({1, 1})}, {}},
                                 {f32({17, 10}), {f32({1, 17}), f32({1, 10})}, {}},
                                 {f32({40, 35}), {f32({9, 40}), f32({9, 35})}, {}},
                                 {f32({33, 19}), {f32({50, 33}), f32({50, 19})}, {}}});
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "the update named by 'rule' with g = x^T dy",
                                    .attributes = kRuleAttributes,
                                    .infer = infer,
                                    .in_place = kUpdatePairs,
                                    .is_update = true,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::linear_update_weight
