// Weights go to files and come back under PyTorch's names and layouts.
#include "train/weights.h"

#include <gtest/gtest.h>

#include "train/initialize.h"
#include "train/state_fixture.h"
#include "train/support.h"
#include "train/torch_layout.h"

namespace thimble::testing {
namespace {

void write_f32(const std::string& path, const std::vector<std::pair<std::string, Shape>>& tensors,
               const std::function<float(std::int64_t)>& value) {
  std::vector<TensorToStore> stored;
  for (const auto& [name, shape] : tensors) {
    stored.push_back({name, StoredType::f32, shape, [&value](Bytes offset, std::span<std::byte> out) {
                        for (std::size_t k = 0; k < out.size() / 4; ++k) {
                          const float number = value(offset / 4 + static_cast<std::int64_t>(k));
                          std::memcpy(out.data() + 4 * k, &number, 4);
                        }
                      }});
  }
  publish_safetensors(path, stored);
}

TEST(TorchLayout, ConvolutionsAndLinearLayersAreTransposed) {
  const Shape conv{3, 2, 5, 4};  // (KH, KW, I, O)
  const TorchLayout layout(conv);
  EXPECT_EQ(layout.shape(), (Shape{4, 5, 3, 2}));
  // ours [kh=2][kw=1][i=3][o=2] is theirs [o=2][i=3][kh=2][kw=1]
  EXPECT_EQ(layout.torch_index(((2 * 2 + 1) * 5 + 3) * 4 + 2), ((2 * 5 + 3) * 3 + 2) * 2 + 1);
  EXPECT_EQ(TorchLayout({7, 9}).shape(), (Shape{9, 7}));
  EXPECT_EQ(TorchLayout({7, 9}).torch_index(3 * 9 + 4), 4 * 7 + 3);
  EXPECT_EQ(TorchLayout({7}).torch_index(5), 5);
}

TEST(TorchLayout, RangesWalkAllElementsInPyTorchsOrder) {
  const TorchLayout layout({3, 2, 5, 4});
  for (const std::int64_t first : {0, 1, 7, 119}) {
    std::int64_t next = first;
    layout.for_torch_range(first, 120 - first, [&](std::int64_t torch, std::int64_t ours) {
      EXPECT_EQ(torch, next++);
      EXPECT_EQ(layout.torch_index(ours), torch);
    });
    EXPECT_EQ(next, 120);
  }
}

TEST(Weights, ImportTransposesAHandMadeFile) {
  const TempFolder folder(fast_parent());
  StateFixture fixture({{.name = "conv.weight", .type = {DType::f32, {1, 2, 2, 3}}},
                        {.name = "fc.weight", .type = {DType::f32, {2, 3}}},
                        {.name = "fc.bias", .type = {DType::f32, {3}}}});
  write_f32(folder / "in.safetensors", {{"conv.weight", {3, 2, 1, 2}}, {"fc.weight", {3, 2}}, {"fc.bias", {3}}},
            [](std::int64_t index) { return static_cast<float>(index); });
  import_weights(SafetensorsFile(open_to_read(folder / "in.safetensors")), fixture.state());
  EXPECT_EQ(fixture.values("conv.weight"), (std::vector<double>{0, 4, 8, 2, 6, 10, 1, 5, 9, 3, 7, 11}));
  EXPECT_EQ(fixture.values("fc.weight"), (std::vector<double>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(fixture.values("fc.bias"), (std::vector<double>{0, 1, 2}));
}

TEST(Weights, ImportNamesAllThatIsWrongAtOnceAndChangesNothing) {
  const TempFolder folder(fast_parent());
  StateFixture fixture({{.name = "a.weight", .type = {DType::f32, {2, 3}}},
                        {.name = "a.bias", .type = {DType::f32, {3}}},
                        {.name = "b.bias", .type = {DType::f32, {4}}}});
  write_f32(folder / "in.safetensors",
            {{"a.weight", {2, 3}}, {"b.bias", {4}}, {"head.weight", {5}}, {"bn.num_batches_tracked", {}}},
            [](std::int64_t) { return 1.0F; });
  const SafetensorsFile file(open_to_read(folder / "in.safetensors"));
  const std::string message = refusal([&] { import_weights(file, fixture.state()); });
  EXPECT_NE(message.find("'a.weight' is [2,3], wanted [3,2]"), std::string::npos) << message;
  EXPECT_NE(message.find("'a.bias' is missing"), std::string::npos) << message;
  EXPECT_NE(message.find("'head.weight' is not a tensor of this network"), std::string::npos) << message;
  EXPECT_EQ(message.find("num_batches_tracked"), std::string::npos) << message;
  EXPECT_EQ(fixture.values("b.bias"), (std::vector<double>{0, 0, 0, 0}));
}

TEST(Weights, AtMostTenProblemsAreNamed) {
  const TempFolder folder(fast_parent());
  std::vector<TensorSpec> specs;
  for (int i = 0; i < 13; ++i) specs.push_back({.name = "t" + std::to_string(i), .type = {DType::f32, {2}}});
  StateFixture fixture(specs);
  write_f32(folder / "in.safetensors", {}, [](std::int64_t) { return 0.0F; });
  const std::string message =
      refusal([&] { import_weights(SafetensorsFile(open_to_read(folder / "in.safetensors")), fixture.state()); });
  EXPECT_NE(message.find("'t9' is missing; and 3 more"), std::string::npos) << message;
}

TEST(Weights, ExportAndImportGiveBackEveryBit) {
  const TempFolder folder(fast_parent());
  for (const DType dtype : {DType::f32, DType::bf16}) {
    // More than one piece of 64 KiB.
    const std::vector<TensorSpec> specs = {
        {.name = "conv.weight", .type = {dtype, {3, 3, 50, 60}}, .init = Init::normal, .scale = 0.1},
        {.name = "fc.weight", .type = {dtype, {37, 11}}, .init = Init::uniform, .scale = 2},
        {.name = "bn.running_var", .type = {DType::f32, {60}}, .init = Init::ones}};
    StateFixture from(specs), to(specs);
    initialize(from.state(), {.seed = 1});
    publish_safetensors(folder / "out.safetensors", weights_to_store(from.state()));
    const SafetensorsFile file(open_to_read(folder / "out.safetensors"));
    EXPECT_EQ(file.get("conv.weight").type, stored_type(dtype));
    EXPECT_EQ(file.get("conv.weight").shape, (Shape{60, 50, 3, 3}));
    import_weights(file, to.state());
    for (const TensorSpec& spec : specs) EXPECT_EQ(from.values(spec.name), to.values(spec.name)) << spec.name;
  }
}

TEST(Weights, SparseTensorsAreWrittenWithTheirZerosAndReadAtTheirPositions) {
  const TempFolder folder(fast_parent());
  const std::vector<TensorSpec> specs = {
      {.name = "a", .type = {DType::f32, {3, 3, 4, 6}}, .init = Init::normal, .sparse_candidate = true},
      {.name = "b", .type = {DType::f32, {10, 7}}, .init = Init::normal, .sparse_candidate = true}};
  StateFixture sparse(specs, 0.75), dense(specs), again(specs, 0.75);
  initialize(sparse.state(), {.seed = 5, .sparsity = 0.75});
  publish_safetensors(folder / "sparse.safetensors", weights_to_store(sparse.state()));
  import_weights(SafetensorsFile(open_to_read(folder / "sparse.safetensors")), dense.state());
  EXPECT_EQ(dense.values("a"), sparse.dense_values(0));
  EXPECT_EQ(dense.values("b"), sparse.dense_values(1));
  initialize(again.state(), {.seed = 5, .sparsity = 0.75});
  std::fill(again.pool("parameter").begin(), again.pool("parameter").end(), 0.0F);
  import_weights(SafetensorsFile(open_to_read(folder / "sparse.safetensors")), again.state());
  EXPECT_EQ(again.dense_values(0), sparse.dense_values(0));
}

TEST(Weights, InitialWeightsOfARunComeFromTheFile) {
  const TempFolder folder(fast_parent());
  TrainOptions options = short_run(folder / "first", "wrn10-1");
  options.compile.microbatch.reset();
  const TrainResult first = run(options);
  options.initial_weights = first.checkpoint + "/model.safetensors";
  options.out_folder = folder / "second";
  options.seed = 99;
  options.learning_rate.peak = 0;
  Recorder recorder;
  run(options, TinyDataset(), recorder);
  EXPECT_LT(recorder.iterations.front().loss, 1.2) << "the loss of a trained network, not ln 4";
}

}  // namespace
}  // namespace thimble::testing
