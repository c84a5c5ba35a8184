// Photographs in folders, through the whole program: the budget holds whatever the pictures are, and a resume notices
// other pictures.
#include <gtest/gtest.h>

#include "data/fake_pictures.h"
#include "run_thimble.h"

namespace thimble::testing {
namespace {

using namespace thimble::test;

// Every kind of file that a decoder treats in its own way, small and large.
void write_pictures(const TemporaryFolder& folder) {
  int number = 0;
  for (const char* place : {"train/a/", "train/b/", "val/a/", "val/b/"}) {
    for (const std::int64_t side : {40, 700}) {
      const Pixels pixels = paint_smooth(side + 7 * number, side + 90);
      const ByteList files[] = {encode_jpeg(pixels, JpegKind::baseline),    encode_jpeg(pixels, JpegKind::progressive),
                                encode_jpeg(pixels, JpegKind::cmyk),        encode_png(pixels, PngKind::rgb),
                                encode_png(pixels, PngKind::palette, true), encode_png(pixels, PngKind::rgb16, true)};
      for (const ByteList& bytes : files) folder.write(place + std::to_string(number++) + ".jpg", bytes);
    }
  }
}

Words picture_run(const std::string& verb, const TemporaryFolder& folder, const Words& more) {
  const Words words = {verb,      "wrn10-1-gn", "--data",    folder.path(), "--input", "32x32x3",
                       "--batch", "8",          "--threads", "2",           "--json"};
  return with(words, more);
}

TEST(Pictures, OfAllKindsTrainInsideTheSmallestBudget) {
  const TemporaryFolder folder;
  write_pictures(folder);
  const Outcome refused = run_thimble(picture_run("plan", folder, {"--memory", "1MiB"}));
  ASSERT_EQ(refused.code, 3) << refused.err;
  const auto smallest = refused.json().at("smallest_budget_bytes").get<std::int64_t>();
  const Words budget = {"--epochs", "2", "--progress", "none", "--memory", std::to_string(smallest) + "B"};
  const Outcome trained = run_thimble(picture_run("train", folder, budget));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_LE(trained.json().at("peak_rss_bytes").get<std::int64_t>(), smallest);
  EXPECT_EQ(trained.json().at("iterations").get<int>(), 6);
}

// Under the lowest limits of an eviction rule, operands of this network pushed each other out and were made again for
// each other without end.
TEST(Pictures, EvictionThatGoesInCirclesEnds) {
  const TemporaryFolder folder;
  write_pictures(folder);
  for (const char* rule : {"sage", "greedy"}) {
    const Outcome planned = run_thimble({"plan", "shufflenetv2", "--data", folder.path(), "--input", "64x64x3",
                                         "--batch", "4", "--optimizer", "adamw", "--sparsity", "0.8", "--threads", "2",
                                         "--recompute", rule, "--memory", "40MiB"});
    EXPECT_EQ(planned.code, 0) << rule << ": " << planned.err;
  }
}

TEST(Pictures, AResumeRefusesAnotherListOfFilesAndEvalTakesTheRun) {
  const TemporaryFolder folder;
  write_pictures(folder);
  const TempFolder runs;
  const std::string run = runs / "run";
  const Words first = {"--steps", "2", "--progress", "none", "--out", run};
  ASSERT_EQ(run_thimble(picture_run("train", folder, first)).code, 0);
  const Outcome evaluated = run_thimble(picture_run("eval", folder, {"--weights", run}));
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_EQ(evaluated.json().at("samples").get<int>(), 24);
  const Words more = {"train", "--resume", run, "--steps", "3", "--progress", "none"};
  EXPECT_EQ(run_thimble(more).code, 0);
  std::filesystem::rename(folder.path() + "/train/a/0.jpg", folder.path() + "/train/a/zero.jpg");
  const Outcome resumed = run_thimble(more);
  EXPECT_EQ(resumed.code, 1);
  EXPECT_TRUE(contains(resumed.err, "data was")) << resumed.err;
}

TEST(Pictures, ADamagedOneEndsTheRunWithItsName) {
  const TemporaryFolder folder;
  write_pictures(folder);
  folder.write("train/a/0.jpg", {0xff, 0xd8, 0xff, 0xe0, 0});
  const Outcome outcome = run_thimble(picture_run("train", folder, {"--epochs", "1", "--progress", "none"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "train/a/0.jpg: no sound JPEG")) << outcome.err;
}

}  // namespace
}  // namespace thimble::testing
