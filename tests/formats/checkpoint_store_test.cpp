#include "formats/checkpoint_store.h"

#include <gtest/gtest.h>

#include "formats/safetensors.h"
#include "formats/support.h"

namespace thimble {
namespace {

using namespace testing;

void save_state(CheckpointStore& store, std::int64_t iteration, const std::string& text = "state") {
  store.save(iteration, [&](CheckpointWriter& writer) {
    writer.add_text("trainer_state.json", text);
    writer.add_text("model.safetensors", std::string(1000, 'w'));
  });
}

std::int64_t newest(const std::string& folder, Check check = Check::hashes) {
  const FoundCheckpoint found = find_newest_complete(folder, check);
  return found.newest ? found.newest->manifest.iteration : -1;
}

TEST(CheckpointStore, AnAbsentOrEmptyFolderHoldsNone) {
  const TempFolder folder;
  EXPECT_EQ(newest(folder / "absent"), -1);
  EXPECT_EQ(newest(folder.path()), -1);
  write_text_file(folder / "file", "");
  EXPECT_NE(refusal([&] { find_newest_complete(folder / "file", Check::sizes); }), "");
}

TEST(CheckpointStore, WhatIsSavedIsFound) {
  const TempFolder folder;
  CheckpointStore store(folder / "run/checkpoints");
  const std::vector<float> weight = {1, 2, 3};
  TensorToStore tensor{.name = "w", .shape = Shape{3}, .produce = {}};
  tensor.produce = [&](Bytes offset, std::span<std::byte> out) {
    std::copy_n(std::as_bytes(std::span(weight)).begin() + offset, out.size(), out.begin());
  };
  store.save(500, [&](CheckpointWriter& writer) {
    writer.add("model.safetensors", [&](const ByteSink& sink) { write_safetensors(sink, std::span(&tensor, 1)); });
    writer.add_text("trainer_state.json", "{}");
  });

  const FoundCheckpoint found = find_newest_complete(folder / "run/checkpoints", Check::hashes);
  ASSERT_TRUE(found.newest.has_value());
  EXPECT_TRUE(found.skipped.empty());
  EXPECT_EQ(found.newest->path, folder / "run/checkpoints/step-000000500");
  EXPECT_EQ(read_text_file(found.newest->path_of("trainer_state.json")), "{}");
  const SafetensorsFile file(open_own_to_read(found.newest->path_of("model.safetensors")));
  std::vector<float> loaded(3);
  file.read(file.get("w"), 0, std::as_writable_bytes(std::span(loaded)));
  EXPECT_EQ(loaded, weight);
  EXPECT_NE(refusal([&] { found.newest->path_of("absent"); }), "");
  EXPECT_EQ(names_in(found.newest->path),
            (std::vector<std::string>{"complete.json", "model.safetensors", "trainer_state.json"}));
}

TEST(CheckpointStore, TheNewestWinsByNumberNotByText) {
  const TempFolder folder;
  CheckpointStore store(folder.path());
  for (const std::int64_t iteration : {999999999LL, 5LL, 1000000000LL}) save_state(store, iteration);
  EXPECT_EQ(newest(folder.path()), 1000000000);
  EXPECT_EQ(checkpoint_name(5), "step-000000005");
  std::filesystem::create_directory(folder / "step-2000000000.part");
  std::filesystem::create_directory(folder / "step-99");
  std::filesystem::create_directory(folder / "step--00000001");
  EXPECT_EQ(newest(folder.path()), 1000000000);
  EXPECT_TRUE(find_newest_complete(folder.path(), Check::sizes).skipped.empty());
}

TEST(CheckpointStore, DamageIsSkippedWithItsReason) {
  const TempFolder folder;
  CheckpointStore store(folder.path());
  for (std::int64_t iteration = 1; iteration <= 7; ++iteration) save_state(store, iteration);
  const auto file = [&](int iteration, const std::string& name) {
    return folder / checkpoint_name(iteration) + "/" + name;
  };
  std::filesystem::remove(file(7, "complete.json"));
  write_text_file(file(6, "complete.json"), "{}");
  std::filesystem::remove(file(5, "model.safetensors"));
  write_text_file(file(4, "trainer_state.json"), "shor");
  std::filesystem::remove(file(3, "trainer_state.json"));
  write_text_file(folder / "elsewhere", "state");
  std::filesystem::create_symlink(folder / "elsewhere", file(3, "trainer_state.json"));
  std::filesystem::remove_all(folder / checkpoint_name(2));
  std::filesystem::create_directory_symlink(folder / checkpoint_name(1), folder / checkpoint_name(2));

  const FoundCheckpoint found = find_newest_complete(folder.path(), Check::sizes);
  ASSERT_TRUE(found.newest.has_value());
  EXPECT_EQ(found.newest->manifest.iteration, 1);
  ASSERT_EQ(found.skipped.size(), 6U);
  const std::vector<std::string> reasons = {
      "complete.json: No such file",       "must state format", "model.safetensors: No such",
      "has 4 bytes, the manifest wants 5", "symbolic link",     "not a folder"};
  for (std::size_t index = 0; index < reasons.size(); ++index) {
    EXPECT_NE(found.skipped[index].reason.find(reasons[index]), std::string::npos) << found.skipped[index].reason;
    EXPECT_EQ(found.skipped[index].path, folder / checkpoint_name(7 - static_cast<int>(index)));
  }
}

TEST(CheckpointStore, ACheckpointUnderAFalseNumberIsSkipped) {
  const TempFolder folder;
  CheckpointStore store(folder.path());
  save_state(store, 3);
  std::filesystem::rename(folder / checkpoint_name(3), folder / checkpoint_name(4));
  EXPECT_EQ(newest(folder.path()), -1);
}

TEST(CheckpointStore, AFlippedBitAnywhereIsFoundByHashes) {
  const TempFolder folder;
  CheckpointStore store(folder.path());
  save_state(store, 1);
  const std::string path = folder / checkpoint_name(1) + "/trainer_state.json";
  for (std::size_t position = 0; position < 5; ++position) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string text = "state";
      text[position] = static_cast<char>(text[position] ^ (1 << bit));
      write_text_file(path, text);
      EXPECT_EQ(newest(folder.path(), Check::hashes), -1);
      EXPECT_EQ(newest(folder.path(), Check::sizes), 1);
    }
  }
}

TEST(CheckpointStore, OpeningOneByPathSaysWhatIsMissing) {
  const TempFolder folder;
  CheckpointStore store(folder.path());
  save_state(store, 1);
  EXPECT_EQ(open_checkpoint(folder / checkpoint_name(1), Check::hashes).manifest.iteration, 1);
  EXPECT_NE(refusal([&] { open_checkpoint(folder / "nothing", Check::sizes); }).find("not a folder"),
            std::string::npos);
}

TEST(CheckpointStore, SavingAnIterationAgainReplacesIt) {
  const TempFolder folder;
  CheckpointStore store(folder.path());
  save_state(store, 1, "first");
  save_state(store, 1, "other");
  EXPECT_EQ(read_text_file(find_newest_complete(folder.path(), Check::hashes).newest->path_of("trainer_state.json")),
            "other");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{checkpoint_name(1)});
}

TEST(CheckpointStore, AReplacedOneCountsUntilItsSuccessorIsIn) {
  const TempFolder folder;
  CheckpointStore store(folder.path());
  save_state(store, 1, "first");
  std::filesystem::rename(folder / checkpoint_name(1),
                          folder / checkpoint_name(1) + ".old");  // killed between two renames
  EXPECT_EQ(newest(folder.path()), 1);
  save_state(store, 1, "other");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{checkpoint_name(1)});
}

TEST(CheckpointStore, LeftoversGoWithTheNextSave) {
  const TempFolder folder;
  CheckpointStore store(folder.path());
  std::filesystem::create_directory(folder / "step-000000009.part");
  write_text_file(folder / "step-000000009.part/model.safetensors", "half");
  write_text_file(folder / "notes.part", "mine");
  save_state(store, 1);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"notes.part", checkpoint_name(1)}));
}

TEST(CheckpointStore, AFailingSaveLeavesTheOldOnesAndNothingElse) {
  const TempFolder folder;
  CheckpointStore store(folder.path());
  save_state(store, 1);
  const std::string message = refusal([&] {
    store.save(2, [](CheckpointWriter& writer) {
      writer.add_text("model.safetensors", "half");
      fail_user("the callback broke");
    });
  });
  EXPECT_EQ(message, "the callback broke");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{checkpoint_name(1)});
}

TEST(CheckpointStore, PruneKeepsTheNewestCompleteOnes) {
  const TempFolder folder;
  CheckpointStore store(folder.path());
  for (std::int64_t iteration = 1; iteration <= 6; ++iteration) save_state(store, iteration);
  std::filesystem::remove(folder / checkpoint_name(6) + "/complete.json");
  std::filesystem::remove(folder / checkpoint_name(2) + "/complete.json");
  store.prune(2);
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{checkpoint_name(4), checkpoint_name(5), checkpoint_name(6)}));
  store.prune(1);
  EXPECT_EQ(newest(folder.path()), 5);
  store.prune(1);
  EXPECT_EQ(newest(folder.path()), 5);
  EXPECT_THROW(store.prune(0), InternalError);
}

TEST(CheckpointStore, PruneDoesNotCountOneIterationTwice) {
  const TempFolder folder;
  CheckpointStore store(folder.path());
  save_state(store, 1);
  save_state(store, 2);
  std::filesystem::copy(folder / checkpoint_name(2), folder / checkpoint_name(2) + ".old",
                        std::filesystem::copy_options::recursive);
  store.prune(2);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{checkpoint_name(1), checkpoint_name(2)}));
}

TEST(CheckpointStore, TwoRunsDoNotShareAFolder) {
  const TempFolder folder;
  {
    const CheckpointStore store(folder.path());
    EXPECT_NE(refusal([&] { CheckpointStore other(folder.path()); }).find("another run"), std::string::npos);
  }
  EXPECT_NO_THROW(CheckpointStore(folder.path()));
}

}  // namespace
}  // namespace thimble
