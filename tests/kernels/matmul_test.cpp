// Matrix products against their references: the four orders of the operands, sizes round tile borders, all element
// types.
#include "kernels/product_check.h"

namespace thimble {
namespace {

struct Sizes {
  std::int64_t rows, depth, columns;
};

void check_matmul(const Sizes& s, bool transpose_a, bool transpose_b, DType a, DType b, DType out) {
  const Shape a_shape = transpose_a ? Shape{s.depth, s.rows} : Shape{s.rows, s.depth};
  const Shape b_shape = transpose_b ? Shape{s.columns, s.depth} : Shape{s.depth, s.columns};
  check_products("matmul", {{a, a_shape}, {b, b_shape}},
                 {{"transpose_a", std::int64_t{transpose_a}},
                  {"transpose_b", std::int64_t{transpose_b}},
                  {"dtype", std::string(name_of(out))}});
}

TEST(Matmul, AgreesInEveryOrderAndType) {
  for (const Sizes& s : {Sizes{1, 1, 1}, Sizes{3, 5, 7}, Sizes{17, 33, 18}, Sizes{29, 10, 70}}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        for (const DType a : kStored) {
          for (const DType b : kStored) {
            for (const DType out : kStored) check_matmul(s, transpose_a, transpose_b, a, b, out);
          }
        }
      }
    }
  }
}

TEST(Matmul, AgreesForEveryNumberOfRowsAndColumns) {
  for (std::int64_t rows = 1; rows <= 30; ++rows)
    check_matmul({rows, 9, 33}, false, false, DType::f32, DType::f32, DType::f32);
  for (std::int64_t rows = 1; rows <= 30; ++rows)
    check_matmul({rows, 9, 17}, true, false, DType::f32, DType::f32, DType::f32);
  for (std::int64_t columns = 1; columns <= 66; ++columns) {
    check_matmul({5, 6, columns}, false, true, DType::f32, DType::f32, DType::f32);
  }
}

TEST(Matmul, AgreesWhenThreadsShareTheWork) {
  check_matmul({100, 128, 10}, false, false, DType::f32, DType::f32, DType::f32);
  check_matmul({100, 10, 128}, false, true, DType::bf16, DType::f32, DType::bf16);
  check_matmul({128, 100, 10}, true, false, DType::bf16, DType::bf16, DType::f32);
  check_matmul({1, 300, 300}, false, false, DType::f32, DType::f32, DType::f32);
}

TEST(Linear, AddsBiasAndRectifies) {
  for (const Sizes& s : {Sizes{1, 9, 10}, Sizes{31, 40, 37}, Sizes{100, 64, 10}}) {
    for (const DType x : kStored) {
      for (const DType w : kStored) {
        const std::vector<Type> plain = {{x, {s.rows, s.depth}}, {w, {s.depth, s.columns}}};
        std::vector<Type> biased = plain;
        biased.push_back({DType::f32, {s.columns}});
        for (const char* activation : {"none", "relu", "relu6"}) {
          check_products("linear", plain, {{"activation", activation}});
          check_products("linear", biased, {{"activation", activation}});
        }
      }
    }
  }
}

}  // namespace
}  // namespace thimble
