// The dense copy of one sparse tensor, made for the layer that is about to use it.
#include "ops/shape_word.h"
#include "ops/sparse_slot.h"

namespace thimble::ops::sparse_to_dense {
namespace {

constexpr AttributeDef kAttributes[] = {
    {"slot", AttributeKind::integer, ""}, {"shape", AttributeKind::word, ""}, kDTypeAttribute};

std::vector<Type> infer(const OpQuery& q) {
  constexpr std::string_view kOp = "sparse_to_dense";
  require_inputs(kOp, q, 3, 3);
  require_pooled(kOp, q, 0);
  require_table(kOp, q, 2);
  const Shape shape = parse_shape_word(q.word("shape"), kOp);
  require_mask(kOp, q, 1, shape.count());
  return {{dtype_attribute(kOp, q), shape}};
}

double flops(const OpQuery& q) { return static_cast<double>(q.out[0].shape.count()); }

void reference(const OpQuery& q, const Call& call) noexcept {
  const TensorView &values = call.in[0], &dense = call.out[0];
  const std::int64_t count = dense.shape.count();
  for (std::int64_t i = 0; i < count; ++i) store(dense, i, 0);
  const Slot slot(call.in[2], q.integer("slot"), values.shape.count());
  slot.for_elements(call.in[1], count,
                    [&](std::int64_t element, std::int64_t place) { store(dense, element, load(values, place)); });
}

std::vector<Example> examples() {
  const Type pool{DType::f32, {40}, Layout::pooled};
  const Type table{DType::i32, {4}};
  return {{{pool, {DType::u8, {4}}, table}, {{"slot", std::int64_t{1}}, {"shape", std::string("3,3,3")}}},
          {{pool, {DType::u8, {8}}, table}, {{"slot", std::int64_t{2}}, {"shape", std::string("64")}}}};
}

}  // namespace

extern constinit const OpDef def = {
    .name = "sparse_to_dense",
    .formula = "dense[i] = mask[i] ? values[table[slot] + set bits of mask before i] : 0",
    .attributes = kAttributes,
    .infer = infer,
    .never_kept = true,
    .flops = flops,
    .reference = reference,
    .examples = examples};

}  // namespace thimble::ops::sparse_to_dense
