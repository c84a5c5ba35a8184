// Gathers the gradient of one sparse tensor over microbatches: only the positions that exist, only its own slot of the
// pool.
#include "ops/rounding.h"
#include "ops/sparse_slot.h"

namespace thimble::ops::sparse_accumulate {
namespace {

constexpr AttributeDef kAttributes[] = {{"slot", AttributeKind::integer, ""},
                                        {"opens", AttributeKind::integer, "0"},
                                        {"rounding", AttributeKind::word, "nearest"},
                                        {"key", AttributeKind::integer, "0"}};

std::vector<Type> infer(const OpQuery& q) {
  constexpr std::string_view kOp = "sparse_accumulate";
  require_inputs(kOp, q, 4, 4);
  require_pooled(kOp, q, 0);
  require_floating(kOp, "the gradient", q.in[3]);
  require_mask(kOp, q, 1, q.in[3].shape.count());
  require_table(kOp, q, 2);
  integer_between(kOp, q, "opens", 0, 1);
  require_rounding(kOp, q);
  return {q.in[0]};
}

constexpr InPlacePair kInPlace[] = {{0, 0}};

double flops(const OpQuery& q) { return static_cast<double>(q.in[3].shape.count()); }

void reference(const OpQuery& q, const Call& call) noexcept {
  const TensorView &total = call.out[0], &gradient = call.in[3];
  const Rounding rounding = rounding_of(q, *call.scalars);
  const bool opens = q.integer("opens") == 1;  // first microbatch: what the slot held belongs to the last iteration
  copy_pool(call.in[0], total);
  const Slot slot(call.in[2], q.integer("slot"), total.shape.count());
  slot.for_elements(call.in[1], gradient.shape.count(), [&](std::int64_t element, std::int64_t place) {
    const double before = opens ? 0 : load(total, place);
    store_rounded(total, place, before + load(gradient, element), rounding, element, 0);
  });
}

std::vector<Example> examples() {
  const Type pool{DType::f32, {40}, Layout::pooled}, table{DType::i32, {4}}, mask{DType::u8, {4}},
      gradient{DType::f32, {3, 9}};
  return {{{pool, mask, table, gradient}, {{"slot", std::int64_t{1}}}},
          {{pool, mask, table, gradient}, {{"slot", std::int64_t{2}}, {"opens", std::int64_t{1}}}},
          {{pool, mask, table, gradient},
           {{"slot", std::int64_t{0}}, {"rounding", std::string("stochastic")}, {"key", std::int64_t{3}}}}};
}

}  // namespace

extern constinit const OpDef def = {
    .name = "sparse_accumulate",
    .formula = "total'[k-th of slot] = (opens ? 0 : total[k-th of slot]) + g[k-th set bit of mask]",
    .attributes = kAttributes,
    .infer = infer,
    .in_place = kInPlace,
    .is_update = true,
    .flops = flops,
    .reference = reference,
    .examples = examples};

}  // namespace thimble::ops::sparse_accumulate
