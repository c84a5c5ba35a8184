// Product of two matrices, either of which may be read transposed.
#include "ops/check.h"
#include "ops/example_types.h"

namespace thimble::ops::matmul {
namespace {

constexpr std::string_view kName = "matmul";
constexpr AttributeDef kAttributes[] = {
    {"transpose_a", AttributeKind::integer, "0"}, {"transpose_b", AttributeKind::integer, "0"}, kDTypeAttribute};

// A matrix as the product sees it: element (r, c) lies at r * row_step + c * column_step.
struct Matrix {
  std::int64_t rows = 0, columns = 0, row_step = 0, column_step = 0;
};

Matrix matrix_of(const Shape& shape, bool is_transposed) noexcept {
  if (is_transposed) return {shape[1], shape[0], 1, shape[1]};
  return {shape[0], shape[1], shape[1], 1};
}

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 2, 2);
  require_rank(kName, "a", q.in[0], 2);
  require_rank(kName, "b", q.in[1], 2);
  const Matrix a = matrix_of(q.in[0].shape, integer_between(kName, q, "transpose_a", 0, 1) == 1);
  const Matrix b = matrix_of(q.in[1].shape, integer_between(kName, q, "transpose_b", 0, 1) == 1);
  require(a.columns == b.rows, kName, ": found ", q.in[0], " and ", q.in[1], " that make ", a.columns,
          " columns times ", b.rows, " rows, wanted the same number for ", *q.attributes);
  return {{dtype_attribute(kName, q), {a.rows, b.columns}}};
}

double flops(const OpQuery& q) {
  const Matrix a = matrix_of(q.in[0].shape, q.integer("transpose_a") == 1);
  return 2.0 * static_cast<double>(q.out[0].shape.count()) * static_cast<double>(a.columns);
}

void reference(const OpQuery& q, const Call& call) noexcept {
  const Matrix a = matrix_of(call.in[0].shape, q.integer("transpose_a") == 1);
  const Matrix b = matrix_of(call.in[1].shape, q.integer("transpose_b") == 1);
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c < b.columns; ++c) {
      double sum = 0;
      for (std::int64_t k = 0; k < a.columns; ++k) {
        sum +=
            load(call.in[0], r * a.row_step + k * a.column_step) * load(call.in[1], k * b.row_step + c * b.column_step);
      }
      store(call.out[0], r * b.columns + c, sum);
    }
  }
}

std::vector<Example> examples() {
  return {{{f32({3, 5}), f32({5, 7})}, {}},
          {{f32({5, 3}), f32({5, 7})}, {{"transpose_a", 1}}},
          {{f32({3, 5}), f32({7, 5})}, {{"transpose_b", 1}}},
          {{f32({5, 3}), f32({7, 5})}, {{"transpose_a", 1}, {"transpose_b", 1}}},
          {{f32({1, 1}), f32({1, 1})}, {}},
          {{f32({17, 33}), f32({33, 18})}, {{"dtype", "bf16"}}},
          {{f32({9, 40}), f32({9, 35})}, {{"transpose_a", 1}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y = a b, each transposed on demand",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::matmul
