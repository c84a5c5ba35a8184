// Where the Winograd kernels serve, that they are then chosen, and that they agree with the references on shapes that
// meet every path of their blocking.
#include "kernels/product_check.h"

namespace thimble {
namespace {

struct Maps {
  std::int64_t batch, height, width, channels, outs;
};

struct Use {
  std::string_view op;
  std::vector<Type> in;
  Attributes attributes = {{"padding", std::int64_t{1}}};
};

// What maps and weights, and the gradients of each, are stored as.
struct Stored {
  DType maps = DType::f32, weights = DType::f32;
};

// All directions of one convolution, 3x3.
std::vector<Use> uses_of(const Maps& m, const Stored& stored) {
  const Type x = {stored.maps, {m.batch, m.height, m.width, m.channels}},
             w = {stored.weights, {3, 3, m.channels, m.outs}}, y = {stored.maps, {m.batch, m.height, m.width, m.outs}},
             channel = {DType::f32, {m.channels}};
  std::vector<Use> uses = {{"conv2d", {x, w}},
                           {"norm_conv2d", {x, channel, channel, channel, channel, w}},
                           {"conv2d_grad_input", {y, w}},
                           {"conv2d_grad_weight", {x, y}},
                           {"norm_conv2d_grad_weight", {x, channel, channel, channel, channel, y}},
                           {"conv2d_add_grad_weight", {w, x, y}},
                           {"norm_conv2d_add_grad_weight", {w, x, channel, channel, channel, channel, y}}};
  for (Use& use : uses) {
    if (use.op.ends_with("grad_input")) {
      use.attributes.set("height", m.height);
      use.attributes.set("width", m.width);
    } else if (use.op.ends_with("2d_grad_weight")) {
      use.attributes.set("kernel_height", std::int64_t{3});
      use.attributes.set("kernel_width", std::int64_t{3});
      use.attributes.set("dtype", std::string(name_of(stored.weights)));
    }
  }
  return uses;
}

// The kernel that would be chosen on a machine with such instructions.
std::string_view chosen_for(const Use& use, Isa isa) {
  const OpDef& op = *find_op(op_table(), use.op);
  const Attributes attributes = complete_attributes(op, use.attributes);
  const std::vector<Type> out = op.infer({use.in, {}, &attributes});
  const Kernel* best = nullptr;
  for (const Kernel* kernel : cpu_kernels()) {
    if (kernel->op != use.op || !includes(isa, kernel->isa) || (best != nullptr && best->rank >= kernel->rank))
      continue;
    if (kernel->refuse({use.in, out, &attributes, 2}).empty()) best = kernel;
  }
  return best->isa == isa ? best->name : "another instruction set's";
}

// bf16 maps are left to the instructions that multiply pairs.
std::vector<Isa> isas_for(const Stored& stored) {
  return stored.maps == DType::f32 ? std::vector{Isa::avx2, Isa::avx512, Isa::neon} : std::vector{Isa::avx512_bf16};
}

void expect_chosen(const Maps& maps, bool is_winograd, const Stored& stored) {
  for (const Use& use : uses_of(maps, stored)) {
    for (const Isa isa : isas_for(stored)) {
      if (!includes(kLargestIsa, isa)) continue;
      EXPECT_EQ(chosen_for(use, isa), (is_winograd ? "winograd_" : "") + std::string(use.op)) << to_text(use.in[0]);
    }
  }
}

constexpr Stored kWide = {}, kNarrowMaps = {DType::bf16, DType::f32}, kNarrow = {DType::bf16, DType::bf16};

void expect_chosen(const Maps& maps, bool is_winograd) {
  for (const Stored& stored : {kWide, kNarrowMaps, kNarrow}) expect_chosen(maps, is_winograd, stored);
}

void check_winograd(const Maps& maps, const std::vector<Stored>& all_stored = {kWide, kNarrowMaps}) {
  for (const Stored& stored : all_stored) {
    expect_chosen(maps, true, stored);
    for (const Use& use : uses_of(maps, stored)) check_products(use.op, use.in, use.attributes);
  }
}

TEST(Winograd, IsChosenForLayersOfLargeBatches) {
  expect_chosen({100, 32, 32, 32, 32}, true);
  expect_chosen({100, 16, 16, 64, 64}, true);
  expect_chosen({100, 8, 8, 128, 128}, true);
  expect_chosen({32, 56, 56, 64, 64}, true);
  expect_chosen({32, 28, 28, 128, 128}, true);
  expect_chosen({32, 14, 14, 256, 256}, true);
}

TEST(Winograd, LeavesSmallMapsAndFewChannelsToTheDirectKernels) {
  expect_chosen({1, 32, 32, 32, 32}, false);
  expect_chosen({1, 8, 8, 128, 128}, false);
  expect_chosen({100, 32, 32, 3, 16}, false);
  expect_chosen({2, 7, 7, 512, 512}, false);
  expect_chosen({1000, 5, 5, 64, 64}, false);  // half of many tiles lies outside the map
}

// There products of pairs are too fast for the transforms to pay.
TEST(Winograd, LeavesFewChannelsOfPairsToTheDirectKernels) {
  const std::vector<Use> uses = uses_of({100, 32, 32, 16, 32}, kNarrowMaps);
  EXPECT_EQ(chosen_for(uses[0], Isa::avx512_bf16), "conv2d");
  EXPECT_EQ(chosen_for(uses[1], Isa::avx512_bf16), "norm_conv2d");
  EXPECT_EQ(chosen_for(uses[2], Isa::avx512_bf16), "conv2d_grad_input");
}

TEST(Winograd, AgreesOnOddMaps) {
  check_winograd({3, 59, 57, 32, 48});
  check_winograd({40, 15, 14, 32, 32}, {kWide, kNarrow});
}

TEST(Winograd, AgreesWhenNothingIsAMultipleOfAVector) { check_winograd({9, 33, 32, 43, 35}); }

// More columns than are transformed at once, and gradients that are summed in several turns.
TEST(Winograd, AgreesWhereWeightsAreTransformedInGroups) {
  check_winograd({7, 31, 29, 96, 100}, {kWide});
  check_winograd({5, 31, 29, 96, 100}, {kNarrowMaps});
}

}  // namespace
}  // namespace thimble
