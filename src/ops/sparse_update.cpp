// Any of the dense update rules on one slot of the pools that hold a sparse parameter and its state.
// Inputs: the rule's pools in the order of the dense op, mask, table, gradient (dense, or a pool of the same table),
// and the gradient's scale or nothing.
#include "ops/sparse_slot.h"
#include "ops/update_rules.h"

namespace thimble::ops::sparse_update {
namespace {

constexpr std::string_view kOp = "sparse_update";

constexpr auto kAttributes = joined({{"slot", AttributeKind::integer, ""}}, kRuleAttributes);

// One table describes all pools of a tensor, so they are of one size.
void require_same_pool(const OpQuery& q, std::size_t input) {
  require(q.in[input].shape == q.in[0].shape, kOp, ": input ", input, " is ", q.in[input],
          ", wanted the size of pool 0, ", q.in[0].shape);
}

std::vector<Type> infer(const OpQuery& q) {
  const UpdateRule& rule = require_rule(kOp, q);
  const auto pools = static_cast<std::size_t>(rule.input_count);
  require(q.in.size() == pools + 3 || q.in.size() == pools + 4, kOp, ": found ", q.in.size(), " inputs, wanted ",
          pools + 3, " or ", pools + 4, " for rule ", rule.name);
  require_scale(kOp, q, pools + 3);
  for (std::size_t k = 0; k < pools; ++k) {
    require_pooled(kOp, q, k);
    require_same_pool(q, k);
  }
  require_table(kOp, q, pools + 1);
  if (q.in[pools + 2].layout == Layout::pooled) {
    require_pooled(kOp, q, pools + 2);
    require_same_pool(q, pools + 2);
    const Type& mask =
        q.in[pools];  // the number of elements is not known here, nor needed: bits past the last one are zero
    require(mask.dtype == DType::u8 && mask.layout == Layout::dense && mask.shape.rank() == 1, kOp, ": the mask is ",
            mask, ", wanted a u8 vector");
  } else {
    require_floating(kOp, "the gradient", q.in[pools + 2]);
    require_mask(kOp, q, pools, q.in[pools + 2].shape.count());
  }
  require_update_numbers(kOp, q);
  return {q.in.begin(), q.in.begin() + rule.output_count};
}

// At most as many elements as the mask has bits.
double flops(const OpQuery& q) {
  const UpdateRule* rule = find_rule(q);
  return rule->flops * static_cast<double>(q.in[static_cast<std::size_t>(rule->input_count)].shape.count() * 8);
}

void reference(const OpQuery& q, const Call& call) noexcept {
  const UpdateRule* rule = find_rule(q);
  const auto pools = static_cast<std::size_t>(rule->input_count),
             outputs = static_cast<std::size_t>(rule->output_count);
  const TensorView &mask = call.in[pools], &gradient = call.in[pools + 2];
  const bool is_pooled = q.in[pools + 2].layout == Layout::pooled;
  const UpdateNumbers numbers = update_numbers(q, *call.scalars);
  const Rounding rounding = rounding_of(q, *call.scalars);
  for (std::size_t k = 0; k < outputs; ++k) copy_pool(call.in[k], call.out[k]);
  const double scale = scale_at(call, pools + 3);
  const Slot slot(call.in[pools + 1], q.integer("slot"), call.in[0].shape.count());
  const std::int64_t count = is_pooled ? mask.shape.count() * 8 : gradient.shape.count();
  slot.for_elements(mask, count, [&](std::int64_t element, std::int64_t place) {
    UpdateElement values{};
    for (std::size_t k = 0; k < pools; ++k) values[k] = load(k < outputs ? call.out[k] : call.in[k], place);
    rule->apply(values, scale * load(gradient, is_pooled ? place : element), numbers);
    for (std::size_t k = 0; k < outputs; ++k)
      store_rounded(call.out[k], place, values[k], rounding, element, static_cast<int>(k));
  });
}

std::vector<Example> examples() {
  const Type pool{DType::f32, {40}, Layout::pooled}, table{DType::i32, {4}}, mask{DType::u8, {4}};
  std::vector<Example> result;
  for (const UpdateRule* rule : kUpdateRules) {
    for (const Type& gradient : {Type{DType::f32, {3, 9}}, pool}) {
      std::vector<Type> in(static_cast<std::size_t>(rule->input_count), pool);
      in.insert(in.end(), {mask, table, gradient});
      const std::string rounding = gradient.layout == Layout::pooled ? "stochastic" : "nearest";
      const Attributes attributes = {{"slot", std::int64_t{1}},
                                     {"rule", std::string(rule->name)},
                                     {"rounding", rounding},
                                     {"weight_decay", 0.125}};
      result.push_back({in, attributes});
      in.push_back({DType::f32, {1}});
      result.push_back({in, attributes});
    }
  }
  return result;
}

}  // namespace

extern constinit const OpDef def = {
    .name = "sparse_update",
    .formula = "the update named by 'rule' on the k-th of slot with g[k-th set bit of mask]",
    .attributes = kAttributes,
    .infer = infer,
    .in_place = kUpdatePairs,
    .is_update = true,
    .flops = flops,
    .reference = reference,
    .examples = examples};

}  // namespace thimble::ops::sparse_update
