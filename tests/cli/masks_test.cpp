// A class for every pixel, through the whole program.
#include <gtest/gtest.h>

#include "cli/run_thimble.h"
#include "data/fake_pictures.h"

namespace thimble::testing {
namespace {

Words mask_run(const std::string& verb, const Words& more) {
  return with({verb, "unet-4-gn", "--data", "glyph-masks", "--batch", "16", "--threads", "1"}, more);
}

TEST(Masks, ThePlanCountsAClassForEveryPixel) {
  const auto input_bytes = [](const std::string& microbatch) {
    // So narrow that most is alive at the loss, which reads the labels.
    const Outcome outcome = run_thimble({"plan", "unet-1-gn", "--data", "glyph-masks", "--batch", "16", "--microbatch",
                                         microbatch, "--recompute", "none", "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.json().at("labels"), "place");
    return outcome.json().at("categories").at("input").get<std::int64_t>();
  };
  EXPECT_EQ(input_bytes("16"), 16 * 32 * 32 * (3 + 1) * 4);
  EXPECT_EQ(input_bytes("4"), 4 * 32 * 32 * (3 + 1) * 4);
}

TEST(Masks, TrainInsideTheSmallestBudgetAndTellSharesOfPlaces) {
  const TempFolder folder;
  const Words mine = {"--steps", "2", "--optimizer", "adamw", "--augment", "crop-flip", "--batch", "8", "--json"};
  const Outcome refused = run_thimble(mask_run("plan", with(mine, {"--memory", "1MiB"})));
  ASSERT_EQ(refused.code, 3) << refused.err;
  const auto smallest = refused.json().at("smallest_budget_bytes").get<std::int64_t>();
  const Words budget = {"--memory", std::to_string(smallest) + "B", "--out", folder / "run"};
  const Outcome trained = run_thimble(mask_run("train", with(mine, budget)));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const nlohmann::json result = trained.json();
  EXPECT_EQ(result.at("arena_bytes"), result.at("tensor_bytes"));
  EXPECT_LE(result.at("peak_rss_bytes").get<std::int64_t>(), smallest);
  EXPECT_EQ(result.at("labels"), "place");
  EXPECT_TRUE(contains(trained.err, "test samples of [32,32,3] with masks, augmentation crop-flip")) << trained.err;
  EXPECT_TRUE(contains(trained.err, " % of places\n")) << trained.err;

  const Outcome evaluated = run_thimble(mask_run("eval", {"--weights", folder / "run"}));
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  char wanted[64];
  std::snprintf(wanted, sizeof(wanted), "accuracy %.2f %% of places\n", 100 * result.at("test_accuracy").get<double>());
  EXPECT_TRUE(contains(evaluated.out, wanted)) << evaluated.out << wanted;
}

TEST(Masks, AnAccuracyOfSamplesNeedsNoWord) { EXPECT_FALSE(contains(run_thimble(tiny_train({})).out, "of places")); }

TEST(Masks, DataThatDoNotFitTheNetworkAreNamed) {
  for (const char* verb : {"train", "plan", "explore"}) {
    const Outcome images = run_thimble({verb, "unet", "--data", "glyphs"});
    EXPECT_EQ(images.code, 1);
    EXPECT_TRUE(contains(images.err, "unet wants a class for every place of an image, glyphs has one for each image"))
        << images.err;
    const Outcome masks = run_thimble({verb, "wrn10-1", "--data", "glyph-masks"});
    EXPECT_EQ(masks.code, 1);
    EXPECT_TRUE(contains(masks.err, "wrn10-1 wants a class for each image, glyph-masks has one for every place"))
        << masks.err;
  }
  const Outcome evaluated = run_thimble({"eval", "wrn10-1", "--data", "glyph-masks", "--weights", "nowhere"});
  EXPECT_EQ(evaluated.code, 1);
  EXPECT_TRUE(contains(evaluated.err, "wrn10-1 wants a class for each image")) << evaluated.err;
}

TEST(Masks, ACropOfAnotherSizeIsRefused) {
  const Outcome outcome = run_thimble(mask_run("train", {"--augment", "resized-crop", "--steps", "1"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "glyph-masks: found augmentation resized-crop, wanted none or crop-flip"))
      << outcome.err;
}

// Photographs of several sizes, dark on one side and bright on the other, with masks that say so.
void write_pictures_with_masks(const test::TemporaryFolder& folder, int right = 1) {
  int number = 0;
  for (const char* split : {"train", "val"}) {
    for (const std::int64_t side : {40, 300, 900, 70}) {
      const auto painted = [&](int value) {
        return test::paint(side, side + 30, [&](auto, std::int64_t x, auto) { return 2 * x > side ? value : 0; });
      };
      const std::string name = std::to_string(number++);
      folder.write(std::string(split) + "/images/" + name + ".jpg",
                   test::encode_jpeg(painted(200), test::JpegKind::progressive));
      folder.write(std::string(split) + "/masks/" + name + ".png",
                   test::encode_png(painted(right), test::PngKind::grey, true));
    }
  }
  const std::string classes = "dark\nbright\n";
  folder.write("classes.txt", {classes.begin(), classes.end()});
}

TEST(Masks, OfPicturesInFoldersTrainInsideThePromise) {
  const test::TemporaryFolder folder;
  write_pictures_with_masks(folder);
  const Words words = {"--data",    folder.path(), "--input", "48x32x3", "--batch",     "4",    "--microbatch", "2",
                       "--threads", "2",           "--steps", "3",       "--recompute", "none", "--json"};
  const Outcome trained = run_thimble(with({"train", "unet-4-gn"}, words));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const nlohmann::json result = trained.json();
  EXPECT_EQ(result.at("arena_bytes"), result.at("tensor_bytes"));
  EXPECT_LE(result.at("peak_rss_bytes").get<std::int64_t>(), result.at("process_bytes").get<std::int64_t>());
  EXPECT_TRUE(contains(trained.err, "4 training and 4 test samples of [48,32,3] with masks, augmentation resized-crop"))
      << trained.err;
  const Outcome refused = run_thimble(with({"train", "wrn10-1-gn"}, words));
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(contains(refused.err, "wrn10-1-gn wants a class for each image")) << refused.err;
}

TEST(Masks, AValueThatIsNoClassEndsTheRunWithItsFile) {
  const test::TemporaryFolder folder;
  write_pictures_with_masks(folder, 2);
  const Outcome outcome = run_thimble({"train", "unet-4-gn", "--data", folder.path(), "--input", "32x32x3", "--batch",
                                       "4", "--microbatch", "4", "--steps", "1", "--recompute", "none"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, ".png: found the value 2 in row ")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "wanted a class from 0 to 1")) << outcome.err;
}

TEST(Masks, AreListedAmongTheDataSets) {
  int found = 0;
  for (const auto& set : run_thimble({"data", "--json"}).json()) {
    const bool has_masks = set.at("name") == "glyph-masks";
    found += has_masks ? 1 : 0;
    EXPECT_EQ(set.at("labels"), has_masks ? "place" : "image") << set.at("name");
  }
  EXPECT_EQ(found, 1);
  EXPECT_TRUE(contains(run_thimble({"data"}).out, "glyph-masks: the pictures of glyphs with a class for every pixel"));
}

}  // namespace
}  // namespace thimble::testing
