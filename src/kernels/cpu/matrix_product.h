// c = a b for matrices in any of the four orders, with bias and rectifier: shared by linear and matmul.
#pragma once

#include "kernels/cpu/conv_shape.h"
#include "kernels/cpu/unit_copy.h"

namespace thimble::kernels::THIMBLE_ISA {

struct ProductPlan : KernelState {
  std::int64_t rows = 0, depth = 0, columns = 0;  // a is rows x depth, b depth x columns, both as the product sees them
  bool transpose_a = false, transpose_b = false;
  Activation activation = Activation::none;
  bool packs_a = false;  // bf16: a block of rows at a time is converted

  std::int64_t a_elements() const { return packs_a ? round_up(kTileRows * depth, 16) : 0; }
  std::int64_t b_elements() const { return transpose_b ? depth * kTileColumns : 0; }
  std::int64_t thread_elements() const { return a_elements() + b_elements(); }
  Bytes workspace(int threads) const { return threads * thread_elements() * 4; }
};

inline void plan_product(ProductPlan& plan, const Type& a, const Type& b) {
  plan.rows = a.shape[plan.transpose_a ? 1 : 0];
  plan.depth = a.shape[plan.transpose_a ? 0 : 1];
  plan.columns = b.shape[plan.transpose_b ? 0 : 1];
  plan.packs_a = a.dtype == DType::bf16;
}

struct Product {
  const ProductPlan& plan;
  const Call& call;
  Ending ending;
};

// Rows [rows.begin, rows.end), at most a tile, with one panel of columns whose b is set in `t`.
template <typename B>
void product_tile(const Product& p, TileWork& t, Range rows, std::int64_t column, std::int64_t columns,
                  float* packed) noexcept {
  const ProductPlan& plan = p.plan;
  const TensorView& a = p.call.in[0];
  const std::int64_t count = rows.end - rows.begin;
  const std::int64_t first = rows.begin * (plan.transpose_a ? 1 : plan.depth);
  t.a_row = plan.transpose_a ? 1 : plan.depth;
  t.a_next = plan.transpose_a ? plan.rows : 1;
  t.count = plan.depth;
  if (!plan.packs_a) {
    t.a = a.as<const float>() + first;
  } else if (plan.transpose_a) {
    for (std::int64_t k = 0; k < plan.depth; ++k) {
      copy_to_f32(packed + k * count, a.as<const BFloat16>() + first + k * plan.rows, count);
    }
    t.a = packed;
    t.a_next = count;
  } else {
    copy_to_f32(packed, a.as<const BFloat16>() + first, count * plan.depth);
    t.a = packed;
  }
  const std::int64_t out = rows.begin * plan.columns + column;
  if (plan.transpose_a) {
    run_tiles_to<B, true, false>(p.call.out[0], p.ending, t, {}, count, column, columns, out, plan.columns);
  } else {
    run_tiles_to<B, false, false>(p.call.out[0], p.ending, t, {}, count, column, columns, out, plan.columns);
  }
}

// Blocks of rows and panels of columns of one thread. Stored is b's element type.
template <typename Stored>
void product_part(const Product& p, Range blocks, int block_count, Range panels, float* buffer) noexcept {
  const ProductPlan& plan = p.plan;
  float* packed = buffer + plan.a_elements();
  const auto* b = p.call.in[1].as<const Stored>();
  for (std::int64_t panel = panels.begin; panel < panels.end; ++panel) {
    const std::int64_t column = panel * kTileColumns, columns = smaller(kTileColumns, plan.columns - column);
    TileWork t;
    if (plan.transpose_b)
      transpose_to_units(packed, kTileColumns, b + column * plan.depth, plan.depth, columns, plan.depth);
    for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
      const Range rows = part_of(plan.rows, static_cast<int>(block), block_count);
      if (plan.transpose_b) {
        t.b = packed;
        t.b_next = kTileColumns;
        product_tile<float>(p, t, rows, column, columns, buffer);
      } else {
        t.b = b + column;
        t.b_next = plan.columns;
        product_tile<Stored>(p, t, rows, column, columns, buffer);
      }
    }
  }
}

inline void run_product(const ProductPlan& plan, const Call& call, Ending ending) noexcept {
  constexpr std::int64_t kSmallWork = 64 * 1024;  // multiply-adds below which waking the pool costs more than it brings
  const int threads = plan.rows * plan.depth * plan.columns < kSmallWork ? 1 : call.threads;
  const auto blocks = static_cast<int>(divide_up(plan.rows, kTileRows));
  const std::int64_t panels = divide_up(plan.columns, kTileColumns);
  const ThreadGrid grid = choose_grid(blocks, panels, threads);
  const Product p = {plan, call, ending};
  parallel(grid.rows * grid.columns, [&](int thread, int) {
    float* buffer = reinterpret_cast<float*>(call.workspace) + thread * plan.thread_elements();
    with_element(call.in[1].dtype, [&](auto element) {
      product_part<decltype(element)>(p, part_of(blocks, thread / grid.columns, grid.rows), blocks,
                                      part_of(panels, thread % grid.columns, grid.columns), buffer);
    });
  });
}

}  // namespace thimble::kernels::THIMBLE_ISA
