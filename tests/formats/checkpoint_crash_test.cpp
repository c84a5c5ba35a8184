// Kills, full disks and missing rights: what was complete stays complete.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <random>

#include "formats/checkpoint_store.h"
#include "formats/support.h"

namespace thimble {
namespace {

using namespace testing;

// Both files carry the same text, so that a mixture of two saves would show.
void save(CheckpointStore& store, std::int64_t iteration, const std::string& text, int copies = 1) {
  store.save(iteration, [&](CheckpointWriter& writer) {
    for (const char* name : {"model.safetensors", "trainer_state.json"})
      writer.add(name, [&](const ByteSink& sink) {
        for (int copy = 0; copy < copies; ++copy) sink(bytes_of_text(text));
      });
  });
}

std::string content_of(const FoundCheckpoint& found) {
  if (!found.newest) return "nothing";
  const std::string model = read_text_file(found.newest->path_of("model.safetensors"));
  const std::string state = read_text_file(found.newest->path_of("trainer_state.json"));
  return model == state ? model : "a mixture";
}

// Saves for ever, one iteration after the other, and reports each that is done.
[[noreturn]] void save_until_killed(const std::string& folder, std::int64_t first, int report) {
  CheckpointStore store(folder);
  for (std::int64_t iteration = first;; ++iteration) {
    save(store, iteration, std::to_string(iteration) + std::string(200000, ' '));
    if (::write(report, &iteration, sizeof(iteration)) != sizeof(iteration)) ::_exit(1);
    store.prune(2);
  }
}

TEST(CheckpointCrash, KilledAtFiftyRandomMoments) {
  const TempFolder folder(fast_parent());
  std::mt19937 random(1);
  std::int64_t newest = 0;
  for (int round = 0; round < 50; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) save_until_killed(folder.path(), newest + 1, ends[1]);
    ::close(ends[1]);
    std::int64_t reported = 0;
    ASSERT_EQ(::read(ends[0], &reported, sizeof(reported)), static_cast<ssize_t>(sizeof(reported)));
    ::usleep(std::uniform_int_distribution<useconds_t>(0, 3000)(random));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child failed by itself";
    while (::read(ends[0], &reported, sizeof(reported)) == static_cast<ssize_t>(sizeof(reported))) continue;
    ::close(ends[0]);

    const FoundCheckpoint found = find_newest_complete(folder.path(), Check::hashes);
    ASSERT_TRUE(found.skipped.empty()) << found.skipped.front().reason;
    ASSERT_TRUE(found.newest.has_value());
    newest = found.newest->manifest.iteration;
    ASSERT_GE(newest, reported) << "a save that was reported is gone";
    ASSERT_LE(newest, reported + 1);
    ASSERT_EQ(std::stoll(content_of(found)), newest);
  }
}

enum class Ended { killed, finished, unavailable };

// Runs `body` in a child and kills it after its `count`-th system call.
template <typename Body>
Ended run_until_system_call(int count, Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(99);
    ::raise(SIGSTOP);
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return Ended::unavailable;
  for (int stop = 0; stop < 2 * count; ++stop) {  // one stop on the way in, one on the way out
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? Ended::finished : Ended::unavailable;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return Ended::killed;
}

TEST(CheckpointCrash, KilledAfterEverySystemCallOfAReplacingSave) {
  int count = 1;
  for (;; ++count) {
    const TempFolder folder(fast_parent());
    {
      CheckpointStore store(folder.path());
      save(store, 1, "old");
    }
    const Ended ended = run_until_system_call(count, [&] {
      CheckpointStore store(folder.path());
      save(store, 1, "new");
    });
    if (ended == Ended::unavailable) GTEST_SKIP() << "no tracing of processes here";
    const std::string content = content_of(find_newest_complete(folder.path(), Check::hashes));
    ASSERT_TRUE(content == "new" || (content == "old" && ended == Ended::killed)) << content << " after call " << count;
    // The next run cleans up behind the dead one.
    CheckpointStore store(folder.path());
    save(store, 1, "next");
    ASSERT_EQ(names_in(folder.path()), std::vector<std::string>{checkpoint_name(1)}) << "after call " << count;
    if (ended == Ended::finished) break;
  }
  EXPECT_GT(count, 30) << "a save takes more system calls than this";
}

TEST(CheckpointCrash, KilledAfterEverySystemCallOfASaveWithPrune) {
  int count = 1;
  for (;; ++count) {
    const TempFolder folder(fast_parent());
    {
      CheckpointStore store(folder.path());
      save(store, 1, "one");
    }
    const Ended ended = run_until_system_call(count, [&] {
      CheckpointStore store(folder.path());
      save(store, 2, "two");
      store.prune(1);
    });
    if (ended == Ended::unavailable) GTEST_SKIP() << "no tracing of processes here";
    const FoundCheckpoint found = find_newest_complete(folder.path(), Check::hashes);
    ASSERT_TRUE(found.newest.has_value()) << "after call " << count;
    ASSERT_TRUE(found.skipped.empty()) << found.skipped.front().reason;
    ASSERT_EQ(content_of(found), found.newest->manifest.iteration == 1 ? "one" : "two") << "after call " << count;
    for (const CheckpointEntry& entry : list_checkpoints(folder.path()))
      ASSERT_TRUE(is_complete(entry, Check::hashes)) << entry.path << " is half removed after call " << count;
    if (ended == Ended::finished) break;
  }
  EXPECT_GT(count, 30) << "a save takes more system calls than this";
}

// What a save into a store that has `room` says, and what is there afterwards.
std::string save_too_much(const std::string& folder, const std::function<void()>& make_room_scarce) {
  CheckpointStore store(folder);
  save(store, 1, "small");
  make_room_scarce();
  const std::string message = refusal([&] { save(store, 2, std::string(65536, 'x'), 64); });
  const std::string content = content_of(find_newest_complete(folder, Check::hashes));
  save(store, 3, "small again");  // the room was given back
  return join_text(message, " | ", content, " | ", names_in(folder).size(), " | ",
                   content_of(find_newest_complete(folder, Check::hashes)));
}

TEST(CheckpointCrash, AFullDiskKeepsTheOldOneAndGivesTheRoomBack) {
  const TempFolder folder;
  const std::string answer = answer_of_child([&]() -> std::string {
    // A private name space of mounts: nobody else sees this one, and it ends with the child.
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return "skip";
    if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) return "skip";
    return save_too_much(folder.path(), [] {});
  });
  if (answer == "skip") GTEST_SKIP() << "no right to mount a small disk";
  EXPECT_NE(answer.find("model.safetensors: No space left on device (wanted 65536 bytes at offset "), std::string::npos)
      << answer;
  EXPECT_NE(answer.find(" | small | 2 | small again"), std::string::npos) << answer;
}

TEST(CheckpointCrash, AFileSizeLimitKeepsTheOldOne) {
  const TempFolder folder;
  const std::string answer = answer_of_child([&] {
    return save_too_much(folder.path(), [] {
      const rlimit limit{100000, 100000};
      ::signal(SIGXFSZ, SIG_IGN);
      ::setrlimit(RLIMIT_FSIZE, &limit);
    });
  });
  EXPECT_NE(answer.find("File too large (wanted 65536 bytes at offset 65536, done 34464)"), std::string::npos)
      << answer;
  EXPECT_NE(answer.find(" | small | 2 | small again"), std::string::npos) << answer;
}

TEST(CheckpointCrash, AFolderWithoutRightsIsRefusedAtTheStart) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "locked");
  ::chmod((folder / "locked").c_str(), 0555);
  const std::string answer = answer_of_child([&]() -> std::string {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) return "skip";
    return refusal([&] { CheckpointStore store(folder / "locked"); }) + " | " +
           refusal([&] { CheckpointStore store(folder / "locked/below"); });
  });
  if (answer == "skip") GTEST_SKIP() << "cannot give up the rights of root";
  EXPECT_NE(answer.find("cannot write to folder " + (folder / "locked") + ": Permission denied; choose a folder"),
            std::string::npos)
      << answer;
  EXPECT_NE(answer.find("cannot make folder " + (folder / "locked/below") + ": Permission denied"), std::string::npos)
      << answer;
}

}  // namespace
}  // namespace thimble
