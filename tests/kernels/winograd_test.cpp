// Where the Winograd kernels serve, that they are then chosen, and that they agree with the references on shapes that
// meet every path of their blocking.
#include "kernels/product_check.h"

namespace thimble {
namespace {

using testing::Tensor;

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

bool is_forward(const Use& use) { return use.op.ends_with("conv2d"); }

enum class Served : std::uint8_t { all, forward, none };

void expect_chosen(const Maps& maps, Served served, const Stored& stored) {
  for (const Use& use : uses_of(maps, stored)) {
    const bool is_winograd = served == Served::all || (served == Served::forward && is_forward(use));
    for (const Isa isa : isas_for(stored)) {
      if (!includes(kLargestIsa, isa)) continue;
      EXPECT_EQ(chosen_for(use, isa), (is_winograd ? "winograd_" : "") + std::string(use.op)) << to_text(use.in[0]);
    }
  }
}

constexpr Stored kWide = {}, kNarrowMaps = {DType::bf16, DType::f32}, kNarrow = {DType::bf16, DType::bf16};

void expect_chosen(const Maps& maps, Served served) {
  for (const Stored& stored : {kWide, kNarrowMaps, kNarrow}) expect_chosen(maps, served, stored);
}

void check_winograd(const Maps& maps, const std::vector<Stored>& all_stored = {kWide, kNarrowMaps},
                    Served served = Served::all) {
  for (const Stored& stored : all_stored) {
    expect_chosen(maps, served, stored);
    for (const Use& use : uses_of(maps, stored)) {
      if (served == Served::all || is_forward(use)) check_products(use.op, use.in, use.attributes);
    }
  }
}

TEST(Winograd, IsChosenForLayersOfLargeBatches) {
  expect_chosen({100, 32, 32, 16, 32}, Served::all);
  expect_chosen({100, 32, 32, 32, 32}, Served::all);
  expect_chosen({100, 16, 16, 64, 64}, Served::all);
  expect_chosen({100, 8, 8, 128, 128}, Served::all);
  expect_chosen({32, 56, 56, 64, 64}, Served::all);
  expect_chosen({32, 28, 28, 128, 128}, Served::all);
  expect_chosen({32, 14, 14, 256, 256}, Served::all);
}

// Gradients of few samples have direct kernels, which need less workspace. Forward the choice must not depend on the
// batch, or else rectifiers would see other last digits in a microbatch.
TEST(Winograd, LeavesOnlyGradientsOfSmallBatchesToTheDirectKernels) {
  expect_chosen({1, 16, 16, 64, 64}, Served::forward);
  expect_chosen({1, 8, 8, 128, 128}, Served::forward);
  expect_chosen({1, 14, 14, 256, 256}, Served::forward);
  expect_chosen({1, 4, 4, 512, 512}, Served::forward);
}

TEST(Winograd, LeavesFewChannelsAndMapsThatTilesCoverBadlyToTheDirectKernels) {
  for (const std::int64_t batch : {1, 1000}) {
    expect_chosen({batch, 32, 32, 3, 16}, Served::none);
    expect_chosen({batch, 5, 5, 64, 64}, Served::none);  // half of many tiles lies outside the map
  }
  expect_chosen({2, 7, 7, 512, 512}, Served::none);
}

TEST(Winograd, LeavesForwardPassesOfTheSmallestMapsToTheDirectKernelsInEveryBatch) {
  for (const std::int64_t batch : {1, 1000}) {
    for (const Use& use : uses_of({batch, 4, 4, 32, 32}, kWide)) {
      if (!is_forward(use)) continue;
      EXPECT_EQ(chosen_for(use, kLargestIsa == Isa::neon ? Isa::neon : Isa::avx2), use.op) << to_text(use.in[0]);
    }
  }
}

TEST(Winograd, AgreesOnOddMaps) {
  check_winograd({3, 59, 57, 32, 48});
  check_winograd({40, 15, 14, 32, 32}, {kWide, kNarrow});
  check_winograd({20, 31, 29, 16, 40});
}

TEST(Winograd, AgreesWhenNothingIsAMultipleOfAVector) { check_winograd({9, 33, 32, 43, 35}); }

// More columns than are transformed at once, and gradients that are summed in several turns.
TEST(Winograd, AgreesWhereWeightsAreTransformedInGroups) {
  check_winograd({7, 31, 29, 96, 100}, {kWide});
  check_winograd({5, 31, 29, 96, 100}, {kNarrowMaps});
}

TEST(Winograd, AgreesOnSingleSamples) {
  check_winograd({1, 17, 16, 37, 45}, {kWide, kNarrowMaps}, Served::forward);
  check_winograd({2, 8, 8, 128, 96}, {kWide, kNarrow}, Served::forward);
}

// The same inputs with the first `count` samples of x, which comes first; nothing else has a row for each.
std::vector<Tensor> first_samples(const std::vector<Tensor>& in, std::int64_t count) {
  std::vector<Tensor> few = in;
  Tensor& x = few[0];
  const Bytes sample = x.type.bytes() / x.type.shape[0];
  x.type.shape = {count, x.type.shape[1], x.type.shape[2], x.type.shape[3]};
  x.bytes.resize(static_cast<std::size_t>(count * sample));
  return few;
}

// Blocks, groups and pieces are cut by the size of the batch; what a sample becomes is not.
TEST(Winograd, GivesASampleTheSameBitsInEveryBatch) {
  for (const Stored& stored : {kWide, kNarrowMaps}) {
    for (const Use& use : uses_of({40, 15, 14, 96, 100}, stored)) {
      if (!is_forward(use)) continue;
      const OpDef& op = *find_op(op_table(), use.op);
      std::vector<Tensor> in;
      for (std::size_t k = 0; k < use.in.size(); ++k) in.push_back(testing::normal_tensor(use.in[k], k));
      for (const Kernel* kernel : cpu_kernels()) {
        if (kernel->name != "winograd_" + std::string(use.op) || !includes(detect_isa(), kernel->isa)) continue;
        const auto run = [&](std::int64_t samples) {
          const std::vector<Tensor> few = first_samples(in, samples);
          const testing::OpCase c{&op, testing::types_of(few), complete_attributes(op, use.attributes)};
          const std::vector<Type> out = c.out();
          if (!kernel->refuse(testing::query_of(c, out, 2)).empty()) return Tensor{};
          return testing::run_kernel(*kernel, c, few, {.threads = 2}).out[0];
        };
        const Tensor all = run(40);
        for (const std::int64_t samples : {1, 3, 8}) {
          const Tensor few = run(samples);
          ASSERT_EQ(few.bytes.empty(), all.bytes.empty()) << kernel->name << " for " << name_of(kernel->isa);
          EXPECT_TRUE(std::equal(few.bytes.begin(), few.bytes.end(), all.bytes.begin()))
              << kernel->name << " for " << name_of(kernel->isa) << ", " << samples << " samples";
        }
      }
    }
  }
}

}  // namespace
}  // namespace thimble
