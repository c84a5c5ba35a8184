// The built-in networks: parameters counted by hand and by their authors, PyTorch's names, refusals.
#include "models/model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "ir/verify.h"
#include "ops/table.h"

namespace thimble {
namespace {

Model build(const std::string& name, Shape sample, std::int64_t classes = 10, Mode mode = Mode::training) {
  Model model =
      build_model({.name = name, .samples = 2, .sample = sample, .classes = classes, .mode = mode}, op_table());
  verify(model.graph);
  return model;
}

bool is_running(const std::string& name) { return name.find("running_") != std::string::npos; }

std::int64_t parameter_count(const Model& model) {
  std::int64_t count = 0;
  for (const TensorSpec& tensor : model.tensors) count += is_running(tensor.name) ? 0 : tensor.type.shape.count();
  return count;
}

std::vector<std::string> names_of(const Model& model) {
  std::vector<std::string> names;
  for (const TensorSpec& tensor : model.tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  return names;
}

// The paper's table, added up.
std::int64_t wide_resnet_count(std::int64_t depth, std::int64_t width, std::int64_t classes) {
  std::int64_t count = 3 * 3 * 3 * 16, in = 16;
  for (const std::int64_t out : {16 * width, 32 * width, 64 * width}) {
    for (std::int64_t layer = 0; layer < (depth - 4) / 6; ++layer) {
      const bool has_shortcut = layer == 0 && (in != out || out != 16 * width);
      count += 2 * in + 9 * in * out + 2 * out + 9 * out * out + (has_shortcut ? in * out : 0);
      in = out;
    }
  }
  return count + 2 * in + in * classes + classes;
}

TEST(Parameters, AreAsManyAsPublished) {
  EXPECT_EQ(parameter_count(build("wrn28-2", {32, 32, 3})), 1'467'610);
  EXPECT_EQ(parameter_count(build("wrn28-10", {32, 32, 3})), 36'479'194);
  EXPECT_EQ(parameter_count(build("resnet18", {32, 32, 3})), 11'173'962);
  EXPECT_EQ(parameter_count(build("resnet18", {224, 224, 3}, 1000)), 11'689'512);
  EXPECT_EQ(parameter_count(build("lenet-300-100", {28, 28, 1})), 266'610);
}

// As torchvision states them for a thousand classes; MobileNet and the small ResNets by their papers' tables, U-Net as
// its common PyTorch version.
TEST(Parameters, OfTheZooAreAsManyAsPublished) {
  const Shape large = {224, 224, 3}, small = {32, 32, 3};
  const auto count = [&](const char* name) { return parameter_count(build(name, large, 1000)); };
  EXPECT_EQ(count("resnet34"), 21'797'672);
  EXPECT_EQ(count("resnet50"), 25'557'032);
  EXPECT_EQ(count("resnet101"), 44'549'160);
  EXPECT_EQ(count("resnet152"), 60'192'808);
  EXPECT_EQ(count("mobilenetv1"), 4'231'976);
  EXPECT_EQ(count("mobilenetv2"), 3'504'872);
  EXPECT_EQ(count("mobilenetv2-1.4"), 6'108'776);
  EXPECT_EQ(count("squeezenet1_0"), 1'248'424);
  EXPECT_EQ(count("squeezenet1_1"), 1'235'496);
  EXPECT_EQ(count("shufflenetv2-0.5"), 1'366'792);
  EXPECT_EQ(count("shufflenetv2"), 2'278'604);
  EXPECT_EQ(count("shufflenetv2-1.5"), 3'503'624);
  EXPECT_EQ(count("shufflenetv2-2.0"), 7'393'996);
  EXPECT_EQ(count("densenet121"), 7'978'856);
  EXPECT_EQ(count("densenet169"), 14'149'480);
  EXPECT_EQ(count("densenet201"), 20'013'928);
  EXPECT_EQ(count("vgg11"), 132'863'336);
  EXPECT_EQ(count("vgg16"), 138'357'544);
  EXPECT_EQ(count("vgg16-bn"), 138'365'992);
  EXPECT_EQ(count("vgg19"), 143'667'240);
  EXPECT_EQ(parameter_count(build("unet", large, 2)), 31'037'698);
  EXPECT_EQ(parameter_count(build("unet-bilinear", large, 2)), 17'262'977 + 65);
  EXPECT_EQ(parameter_count(build("resnet20", small)), 269'722);
  EXPECT_EQ(parameter_count(build("resnet110", small)), 1'727'962);
  EXPECT_EQ(parameter_count(build("resnet1202", small)), 19'421'274);
}

TEST(Parameters, OfWideResNetsFollowThePapersTable) {
  for (const auto& [depth, width] : {std::pair{10, 1}, {10, 4}, {16, 8}, {22, 3}, {28, 2}, {40, 2}}) {
    const std::string name = "wrn" + std::to_string(depth) + "-" + std::to_string(width);
    for (const std::int64_t classes : {2, 100}) {
      EXPECT_EQ(parameter_count(build(name, {32, 32, 3}, classes)), wide_resnet_count(depth, width, classes)) << name;
      EXPECT_EQ(parameter_count(build(name + "-gn", {32, 32, 3}, classes)), wide_resnet_count(depth, width, classes));
    }
  }
}

void add_norm(std::vector<std::string>& names, const std::string& base) {
  for (const char* part : {".weight", ".bias", ".running_mean", ".running_var"}) names.push_back(base + part);
}

TEST(Names, OfResNet18AreTorchvisions) {
  std::vector<std::string> wanted = {"conv1.weight", "fc.weight", "fc.bias"};
  add_norm(wanted, "bn1");
  for (int stage = 1; stage <= 4; ++stage) {
    for (int index = 0; index < 2; ++index) {
      const std::string block = "layer" + std::to_string(stage) + "." + std::to_string(index);
      for (const std::string number : {"1", "2"}) {
        wanted.push_back(block + ".conv" + number + ".weight");
        add_norm(wanted, block + ".bn" + number);
      }
      if (stage == 1 || index == 1) continue;
      wanted.push_back(block + ".downsample.0.weight");
      add_norm(wanted, block + ".downsample.1");
    }
  }
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(names_of(build("resnet18", {32, 32, 3})), wanted);
}

TEST(Names, OfWideResNetsAreThoseOfThePyTorchVersion) {
  std::vector<std::string> wanted = {"conv1.weight", "fc.weight", "fc.bias"};
  add_norm(wanted, "bn1");
  for (int stage = 1; stage <= 3; ++stage) {
    for (int index = 0; index < 2; ++index) {
      const std::string block = "block" + std::to_string(stage) + ".layer." + std::to_string(index);
      for (const std::string number : {"1", "2"}) {
        wanted.push_back(block + ".conv" + number + ".weight");
        add_norm(wanted, block + ".bn" + number);
      }
      if (index == 0) wanted.push_back(block + ".convShortcut.weight");
    }
  }
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(names_of(build("wrn16-2", {32, 32, 3})), wanted);
}

TEST(Names, OfLeNetCountItsLayers) {
  EXPECT_EQ(names_of(build("lenet-300-100", {28, 28, 1})),
            (std::vector<std::string>{"fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight", "fc3.bias", "fc3.weight"}));
}

TEST(Names, AreTheSameForTrainingAndInference) {
  for (const char* name : {"wrn10-1", "wrn10-1-gn", "resnet18", "lenet-300-100", "mobilenetv2", "shufflenetv2-gn",
                           "squeezenet1_1-bn", "densenet121", "vgg16-bn", "unet", "resnet20"}) {
    EXPECT_EQ(names_of(build(name, {32, 32, 3})), names_of(build(name, {32, 32, 3}, 10, Mode::inference))) << name;
  }
}

TEST(Networks, GroupNormHasNoRunningStatistics) {
  const std::vector<std::string> names = names_of(build("resnet18-gn", {32, 32, 3}));
  EXPECT_TRUE(std::none_of(names.begin(), names.end(), is_running));
}

Shape shape_of(const Model& model, std::string_view value) {
  const ValueId id = model.graph.find(value);
  return id.is_valid() ? model.graph.value(id).type.shape : Shape{};
}

TEST(Networks, HaveTheShapesOfTheirTables) {
  const Model wide = build("wrn28-2", {32, 32, 3}, 7);
  EXPECT_EQ(shape_of(wide, "images"), (Shape{2, 32, 32, 3}));
  EXPECT_EQ(shape_of(wide, "block1.layer.3.sum"), (Shape{2, 32, 32, 32}));
  EXPECT_EQ(shape_of(wide, "block3.layer.3.sum"), (Shape{2, 8, 8, 128}));
  EXPECT_EQ(shape_of(wide, "logits"), (Shape{2, 7}));
  EXPECT_EQ(shape_of(wide, "loss"), (Shape{1}));
  // A small-image stem below 64 pixels; from there on 7x7 with stride two, and a pool.
  EXPECT_EQ(shape_of(build("resnet18", {63, 63, 3}), "conv1"), (Shape{2, 63, 63, 64}));
  EXPECT_EQ(shape_of(build("resnet18", {64, 64, 3}), "maxpool"), (Shape{2, 16, 16, 64}));
  EXPECT_EQ(shape_of(build("resnet18", {224, 224, 3}), "layer4.1.sum"), (Shape{2, 7, 7, 512}));
}

TEST(Networks, DropoutIsThereInTrainingOnly) {
  const auto count = [](Mode mode) {
    const Model model =
        build_model({.name = "wrn10-1", .samples = 2, .sample = {32, 32, 3}, .mode = mode, .dropout = 0.3}, op_table());
    int found = 0;
    for (NodeId id{0}; id.index < model.graph.node_count(); ++id.index)
      found += model.graph.node(id).op->name == "dropout" ? 1 : 0;
    return found;
  };
  EXPECT_EQ(count(Mode::training), 3);
  EXPECT_EQ(count(Mode::inference), 0);
}

TEST(Networks, BothSpellingsOfAWideResNetAreKnown) {
  EXPECT_EQ(names_of(build("wrn-16-2", {32, 32, 3})), names_of(build("wrn16-2", {32, 32, 3})));
}

// Any size and number of classes, with either norm.
TEST(Networks, TakeSmallAndLargeImages) {
  for (const char* base : {"resnet34", "resnet50", "resnet20", "mobilenetv1-0.25", "mobilenetv2-0.35", "squeezenet1_0",
                           "squeezenet1_1", "shufflenetv2-0.5", "densenet121", "vgg11", "unet", "unet-bilinear"}) {
    for (const char* norm : {"-bn", "-gn"}) {
      for (const std::int64_t extent : {32, 96, 160}) {
        const Model model = build(std::string(base) + norm, {extent, extent + 16, 3}, 7);
        const Shape wanted = std::string(base).starts_with("unet") ? Shape{2, extent, extent + 16, 7} : Shape{2, 7};
        EXPECT_EQ(shape_of(model, "logits"), wanted) << base << norm << " " << extent;
      }
    }
  }
}

TEST(Networks, OfTheZooHaveTheShapesOfTheirTables) {
  const Shape large = {224, 224, 3};
  EXPECT_EQ(shape_of(build("resnet50", large), "layer4.2.sum"), (Shape{2, 7, 7, 2048}));
  EXPECT_EQ(shape_of(build("resnet20", {32, 32, 3}), "layer3.2.sum"), (Shape{2, 8, 8, 64}));
  EXPECT_EQ(shape_of(build("mobilenetv1", large), "model.13.5"), (Shape{2, 7, 7, 1024}));
  EXPECT_EQ(shape_of(build("mobilenetv2", large), "features.18.2"), (Shape{2, 7, 7, 1280}));
  EXPECT_EQ(shape_of(build("squeezenet1_0", large), "features.12.concat"), (Shape{2, 13, 13, 512}));
  EXPECT_EQ(shape_of(build("squeezenet1_1", large), "features.12.concat"), (Shape{2, 13, 13, 512}));
  EXPECT_EQ(shape_of(build("shufflenetv2", large), "stage4.3.shuffle"), (Shape{2, 7, 7, 464}));
  EXPECT_EQ(shape_of(build("densenet121", large), "features.denseblock4.denselayer16.concat"), (Shape{2, 7, 7, 1024}));
  EXPECT_EQ(shape_of(build("vgg16", large), "features.30"), (Shape{2, 7, 7, 512}));
  EXPECT_EQ(shape_of(build("unet", {256, 256, 3}), "down4.maxpool_conv.1.double_conv.5"), (Shape{2, 16, 16, 1024}));
  EXPECT_EQ(shape_of(build("unet", {256, 256, 3}), "labels"), (Shape{2, 256, 256}));
}

TEST(Networks, EveryKnownExampleIsBuiltAndHasADefaultSample) {
  ASSERT_GE(known_models().size(), 11U);
  for (const ModelInfo& info : known_models()) {
    const std::string name(info.example);
    EXPECT_GT(parameter_count(build(name, default_sample(name), default_classes(name))), 0) << info.name;
  }
}

TEST(Networks, SayWhatTheirLabelsBelongTo) {
  for (const char* name : {"unet", "unet-bilinear-gn", "unet-8"}) EXPECT_EQ(labels_of(name), Labels::place) << name;
  for (const char* name : {"resnet18", "vgg16-bn", "lenet-300-100"}) EXPECT_EQ(labels_of(name), Labels::image) << name;
}

TEST(Networks, AUNetIsAsWideAsItsNameSays) {
  EXPECT_EQ(names_of(build("unet-8", {32, 32, 3})), names_of(build("unet", {32, 32, 3})));
  EXPECT_EQ(parameter_count(build("unet-64", {32, 32, 3})), parameter_count(build("unet", {32, 32, 3})));
  EXPECT_EQ(parameter_count(build("unet-64-bilinear", {32, 32, 3})),
            parameter_count(build("unet-bilinear", {32, 32, 3})));
  const Model narrow = build("unet-8", {32, 48, 3}, 11);
  EXPECT_EQ(shape_of(narrow, "inc.double_conv.5"), (Shape{2, 32, 48, 8}));
  EXPECT_EQ(shape_of(narrow, "down4.maxpool_conv.1.double_conv.5"), (Shape{2, 2, 3, 128}));
  EXPECT_EQ(shape_of(narrow, "logits"), (Shape{2, 32, 48, 11}));
  EXPECT_EQ(shape_of(build("unet-1-bilinear-gn", {16, 16, 1}), "up4.conv.double_conv.5"), (Shape{2, 16, 16, 1}));
}

void expect_refusal(const ModelSpec& spec, const std::string& said) {
  try {
    build_model(spec, op_table());
    ADD_FAILURE() << spec.name << " was built; wanted: " << said;
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
  }
}

TEST(Refusals, NameTheFoundAndTheWanted) {
  const Shape sample = {32, 32, 3};
  expect_refusal({.name = "alexnet", .sample = sample}, "there is no network 'alexnet'");
  expect_refusal({.name = "alexnet", .sample = sample}, "Known: wrn<d>-<k>[-gn], resnet<18|34|50|101|152>[-gn], ");
  expect_refusal({.name = "resnet19", .sample = sample},
                 "resnet: found depth 19, wanted 18, 34, 50, 101 or 152, or 6n");
  expect_refusal({.name = "resnet1208", .sample = sample}, "resnet: found depth 1208, wanted");
  expect_refusal({.name = "mobilenetv2-9", .sample = sample}, "found width multiplier 9, wanted 0.05 to 8");
  expect_refusal({.name = "mobilenetv2-", .sample = sample}, "no network 'mobilenetv2-'; did you mean 'mobilenetv2'?");
  expect_refusal({.name = "unet", .sample = {40, 32, 3}}, "unet: found images of [40,32,3], wanted height and width");
  expect_refusal({.name = "unet-0", .sample = sample}, "unet: found 0 channels, wanted 1 to 1024");
  expect_refusal({.name = "unet-1025-gn", .sample = sample}, "unet: found 1025 channels, wanted 1 to 1024");
  expect_refusal({.name = "unet-8x", .sample = sample}, "no network 'unet-8x'; did you mean 'unet-gn'?");
  expect_refusal({.name = "wrn28", .sample = sample}, "no network 'wrn28'; did you mean 'wrn28-2'?");
  expect_refusal({.name = "wrn28-2x", .sample = sample}, "no network 'wrn28-2x'; did you mean 'wrn28-2'?");
  expect_refusal({.name = "Resnet18", .sample = sample}, "no network 'Resnet18'; did you mean 'resnet18'?");
  expect_refusal({.name = "lenet-300-100-gn", .sample = sample}, "did you mean 'lenet-300-100'?");
  expect_refusal({.name = "", .sample = sample}, "no network ''");
  expect_refusal({.name = "wrn27-2", .sample = sample}, "wrn: found depth 27, wanted 6n + 4");
  expect_refusal({.name = "wrn4-2", .sample = sample}, "wrn: found depth 4, wanted 6n + 4");
  expect_refusal({.name = "wrn1006-2", .sample = sample},
                 "wrn: found depth 1006, wanted 6n + 4 such as 10, 16, 22, 28 or 40, at");
  expect_refusal({.name = "wrn28-0", .sample = sample}, "wrn: found width 0, wanted 1 to 64");
  expect_refusal({.name = "wrn28-65", .sample = sample}, "wrn: found width 65, wanted 1 to 64");
  expect_refusal({.name = "wrn10-1", .samples = 0, .sample = sample}, "found a batch of 0 samples, wanted at least 1");
  expect_refusal({.name = "wrn10-1", .sample = {32, 32}},
                 "found samples of shape [32,32], wanted (height, width, channels)");
  expect_refusal({.name = "wrn10-1", .sample = sample, .classes = 1}, "found 1 classes, wanted at least 2");
  expect_refusal({.name = "lenet-300-100", .sample = sample, .dropout = 1.5}, "dropout");
  expect_refusal({.name = "wrn10-1", .sample = sample, .label_smoothing = 1},
                 "'smoothing' is 1, wanted at least 0 and less than 1");
  EXPECT_THROW(default_sample("alexnet"), UserError);
  EXPECT_THROW(labels_of("alexnet"), UserError);
}

}  // namespace
}  // namespace thimble
