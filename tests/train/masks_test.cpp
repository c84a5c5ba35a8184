// Training on a class for every pixel: a small U-Net finds what is there, resumes exactly, and stays inside its plan.
#include <gtest/gtest.h>

#include "data/glyphs.h"
#include "train/data_fit.h"
#include "train/support.h"

namespace thimble::testing {
namespace {

constexpr std::int64_t kSide = 16;

// Noise with one rectangle in it that is redder or bluer than the rest, and the class of every pixel: 0, 1 red, 2 blue.
class TinyMasks final : public Dataset {
 public:
  explicit TinyMasks(std::int64_t train_count = 24, std::int64_t test_count = 10)
      : Dataset({.name = "tiny masks",
                 .sample_shape = {kSide, kSide, 3},
                 .class_names = {"background", "red", "blue"},
                 .train_count = train_count,
                 .test_count = test_count,
                 .mean = {0.4F, 0.4F, 0.4F},
                 .deviation = {0.25F, 0.25F, 0.25F},
                 .has_masks = true}) {}

  void read_masked(Split split, std::int64_t index, const Framing&, const MaskedRoom& room) const override {
    check_read_masked(split, index, room);
    const RandomKey key =
        random_key(static_cast<std::uint64_t>(split), RandomPurpose::test, static_cast<std::uint64_t>(index));
    const auto draw = [&](std::uint64_t place, std::uint64_t below) {
      return static_cast<std::int64_t>(random_below(key, place, below));
    };
    const std::int64_t top = draw(0, 9), left = draw(1, 9), height = 4 + draw(2, 4), width = 4 + draw(3, 4);
    const std::int64_t colour = 1 + index % 2;
    for (std::int64_t place = 0; place < kSide * kSide; ++place) {
      const std::int64_t y = place / kSide - top, x = place % kSide - left;
      const bool is_inside = y >= 0 && y < height && x >= 0 && x < width;
      room.mask[static_cast<std::size_t>(place)] = static_cast<std::uint8_t>(is_inside ? colour : 0);
      for (std::int64_t c = 0; c < 3; ++c) {
        const bool is_bright = is_inside && c == (colour == 1 ? 0 : 2);
        const std::int64_t noise = draw(static_cast<std::uint64_t>(4 + 3 * place + c), 128);
        room.pixels[static_cast<std::size_t>(3 * place + c)] =
            static_cast<std::uint8_t>(noise + (is_bright ? 100 : 20));
      }
    }
  }
};

double background_share(const Dataset& dataset, Split split) {
  const Shape& shape = dataset.info().sample_shape;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(shape.count()));
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(dataset.mask_bytes()));
  std::int64_t count = 0;
  for (std::int64_t index = 0; index < dataset.count(split); ++index) {
    dataset.read_masked(split, index, {}, {pixels, mask, {}});
    count += std::count(mask.begin(), mask.end(), 0);
  }
  return static_cast<double>(count) / static_cast<double>(dataset.count(split) * dataset.mask_bytes());
}

// The least share of the foreground that must be right for an accuracy: as if all of the background were.
double foreground_right(double accuracy, double background) { return (accuracy - background) / (1 - background); }

TrainOptions mask_run(const std::string& folder) {
  TrainOptions options = short_run(folder, "unet-4-gn");
  options.compile.optimizer.kind = OptimizerKind::adamw;
  options.learning_rate.peak = 0.01;
  options.augmentation = Augmentation::crop_flip;
  options.iterations = 10;
  return options;
}

TEST(Masks, ASmallUNetFindsTheForeground) {
  TrainOptions options = short_run("", "unet-8");
  options.compile.microbatch = 8;
  options.compile.optimizer.kind = OptimizerKind::adamw;
  options.learning_rate.peak = 0.01;
  options.iterations = 120;
  const TinyMasks dataset(48, 40);
  Recorder recorder;
  const TrainResult result = run(options, dataset, recorder);
  const double background = background_share(dataset, Split::test);
  EXPECT_LT(background, 0.95);
  EXPECT_GT(result.test_accuracy.value_or(0), background);
  EXPECT_GT(foreground_right(result.test_accuracy.value_or(0), background), 0.75);
  EXPECT_LE(recorder.iterations.back().accuracy, 1) << "an accuracy is a share of places";
  EXPECT_GT(recorder.iterations.back().accuracy, background_share(dataset, Split::train));
}

TEST(Masks, TwoHalvesEndInTheBitsOfTheWhole) {
  for (const std::int64_t microbatch : {8, 3}) {
    const TempFolder folder(fast_parent());
    const TinyMasks dataset(21);  // in batches of 8: the last one of an epoch is ragged
    TrainOptions options = mask_run(folder / "whole");
    options.compile.microbatch = microbatch;
    run(options, dataset);
    options.out_folder = folder / "halves";
    Recorder first, second;
    first.stop_after = 4;
    EXPECT_EQ(run(options, dataset, first).end, TrainEnd::interrupted);
    options.resume = true;
    EXPECT_EQ(run(options, dataset, second).end, TrainEnd::finished);
    EXPECT_EQ(second.iterations.front().iteration, 5);
    EXPECT_TRUE(state_of(folder / "whole") == state_of(folder / "halves")) << microbatch;
  }
}

TEST(Masks, PlannedIsUsedAndTheBudgetChangesNoBit) {
  const TempFolder folder(fast_parent());
  const TinyMasks dataset(21);
  TrainOptions options = mask_run(folder / "free");
  const TrainResult free = run(options, dataset);
  EXPECT_EQ(free.arena_bytes, free.compile.compiled->point.arena_bytes);
  options.compile.configuration.poison = true;  // what nobody may read any more is spoilt
  options.compile.recompute = Recompute::automatic;
  options.compile.tensor_memory = 1024;
  options.out_folder = folder / "tight";
  const TrainResult refused = run(options, dataset);
  ASSERT_EQ(refused.end, TrainEnd::does_not_fit);
  options.compile.tensor_memory = refused.compile.smallest_tensor_bytes;
  const TrainResult tight = run(options, dataset);
  ASSERT_EQ(tight.end, TrainEnd::finished);
  EXPECT_LT(tight.arena_bytes, free.arena_bytes);
  EXPECT_EQ(tight.arena_bytes, tight.compile.compiled->point.arena_bytes);
  EXPECT_EQ(weights_of(folder / "tight"), weights_of(folder / "free"));
}

TEST(Masks, EvaluationOfACheckpointGivesTheRunsOwnFigures) {
  const TempFolder folder(fast_parent());
  const TrainOptions options = mask_run(folder.path());
  Recorder recorder;
  run(options, TinyMasks(), recorder);
  const EvaluationFacts facts =
      evaluate_weights({options.compile, folder.path()}, TinyMasks(), op_table(), cpu_kernels());
  EXPECT_EQ(facts.accuracy, recorder.evaluations.back().accuracy);
  EXPECT_EQ(facts.loss, recorder.evaluations.back().loss);
}

TEST(Masks, LabelsOfTheOtherKindAreRefusedByBothNames) {
  const std::string wants_places = refusal([] { run(short_run("", "unet-4-gn"), TinyDataset()); });
  EXPECT_NE(wants_places.find("unet-4-gn wants a class for every place of an image, tiny has one for each image"),
            std::string::npos)
      << wants_places;
  const std::string wants_images = refusal([] { run(short_run(""), TinyMasks()); });
  EXPECT_NE(wants_images.find("wrn10-1-gn wants a class for each image, tiny masks has one for every place"),
            std::string::npos)
      << wants_images;
  CompileRequest request = short_run("").compile;
  EXPECT_NE(refusal([&] {
              evaluate_weights({request, "nowhere"}, TinyMasks(), op_table(), cpu_kernels());
            }).find("wants a class for each image"),
            std::string::npos);
}

TEST(Masks, ANetworkTakesSampleAndClassesFromTheData) {
  ModelSpec model{.name = "unet-8", .sample = {}};
  fit_to_data(model, *open_glyph_masks({}));
  EXPECT_EQ(model.sample, (Shape{32, 32, 3}));
  EXPECT_EQ(model.classes, 11);
}

}  // namespace
}  // namespace thimble::testing
