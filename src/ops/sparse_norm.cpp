// Length of the gradient of a sparse tensor: only the positions that exist, the ones that sparse_update reads. The
// gradient is dense, or a pool of the same table.
#include "ops/sparse_slot.h"

namespace thimble::ops::sparse_norm {
namespace {

constexpr std::string_view kName = "sparse_norm";
constexpr AttributeDef kAttributes[] = {{"slot", AttributeKind::integer, ""}};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 3, 3);
  if (q.in[0].layout == Layout::pooled) {
    require_pooled(kName, q, 0);
    const Type& mask = q.in[1];  // how many elements it is for is not known here, nor needed
    require(mask.dtype == DType::u8 && mask.layout == Layout::dense && mask.shape.rank() == 1, kName, ": the mask is ",
            mask, ", wanted a u8 vector");
  } else {
    require_floating(kName, "the gradient", q.in[0]);
    require_mask(kName, q, 1, q.in[0].shape.count());
  }
  require_table(kName, q, 2);
  return {{DType::f32, {1}}};
}

double flops(const OpQuery& q) { return 2 * static_cast<double>(q.in[0].shape.count()) + 1; }

void reference(const OpQuery& q, const Call& call) noexcept {
  const bool is_pooled = q.in[0].layout == Layout::pooled;
  const std::int64_t count = call.in[0].shape.count();
  const Slot slot(call.in[2], q.integer("slot"), is_pooled ? count : kAnyCapacity);
  double sum = 0;
  slot.for_elements(call.in[1], is_pooled ? call.in[1].shape.count() * 8 : count,
                    [&](std::int64_t element, std::int64_t place) {
                      const double x = load(call.in[0], is_pooled ? place : element);
                      sum += x * x;
                    });
  store(call.out[0], 0, std::sqrt(sum));
}

std::vector<Example> examples() {
  const Type pool{DType::f32, {40}, Layout::pooled}, table{DType::i32, {4}}, mask{DType::u8, {4}},
      gradient{DType::f32, {3, 9}};
  return {{{gradient, mask, table}, {{"slot", std::int64_t{1}}}}, {{pool, mask, table}, {{"slot", std::int64_t{2}}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "n = sqrt(sum of g[k-th set bit of mask]^2 over the k of slot)",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::sparse_norm
