#include "formats/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "formats/publish.h"
#include "formats/support.h"

namespace thimble {
namespace {

using namespace testing;

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(File, ReadsWhatWasWritten) {
  const TempFolder folder;
  const std::string path = folder / "data";
  {
    const File file = create_new(path);
    write_at(file, 0, bytes_of_text("hello"));
    write_at(file, 5, bytes_of_text(" world"));
    sync(file);
  }
  const File file = open_to_read(path);
  std::string text(5, ' ');
  read_at(file, 6, std::as_writable_bytes(std::span(text)));
  EXPECT_EQ(text, "world");
  EXPECT_EQ(size_of(file), 11);
}

TEST(File, ReadingPastTheEndNamesThePathAndTheBytes) {
  const TempFolder folder;
  write_text_file(folder / "short", "abc");
  const File file = open_to_read(folder / "short");
  std::string text(8, ' ');
  const std::string message = refusal([&] { read_at(file, 1, std::as_writable_bytes(std::span(text))); });
  EXPECT_TRUE(holds(message, folder / "short")) << message;
  EXPECT_TRUE(holds(message, "wanted 8 bytes at offset 1, done 2")) << message;
}

TEST(File, OnlyRegularFilesAreOpened) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(holds(refusal([&] { open_to_read(folder / "pipe"); }), "not a regular file"));  // and does not hang
  EXPECT_TRUE(holds(refusal([&] { open_to_read(folder.path()); }), "not a regular file"));
  EXPECT_TRUE(holds(refusal([&] { open_to_read(folder / "absent"); }), "No such file"));
}

TEST(File, OwnFilesAreNotReachedThroughLinks) {
  const TempFolder folder;
  write_text_file(folder / "real", "abc");
  std::filesystem::create_symlink(folder / "real", folder / "link");
  EXPECT_EQ(size_of(open_to_read(folder / "link")), 3);
  EXPECT_TRUE(holds(refusal([&] { open_own_to_read(folder / "link"); }), "symbolic link"));
  EXPECT_TRUE(holds(refusal([&] { open_to_read_write(folder / "link"); }), "symbolic link"));
  EXPECT_TRUE(holds(refusal([&] { create_new(folder / "link"); }), "cannot create"));
}

TEST(File, DescriptorsAreClosedInChildPrograms) {
  const TempFolder folder;
  write_text_file(folder / "data", "abc");
  const File file = open_to_read(folder / "data");
  EXPECT_NE(::fcntl(file.descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(File, MovingLeavesOneOwner) {
  const TempFolder folder;
  write_text_file(folder / "a", "abc");
  write_text_file(folder / "b", "defgh");
  File a = open_to_read(folder / "a");
  File b = open_to_read(folder / "b");
  const int closed = a.descriptor();
  a = std::move(b);
  EXPECT_EQ(size_of(a), 5);
  EXPECT_EQ(::fcntl(closed, F_GETFD), -1);
}

TEST(File, MakesFoldersOnTheWay) {
  const TempFolder folder;
  make_folders(folder / "a/b/c/");
  make_folders(folder / "a/b/c");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b/c"));
  write_text_file(folder / "file", "");
  EXPECT_TRUE(holds(refusal([&] { make_folders(folder / "file/sub"); }), "cannot make folder"));
  EXPECT_TRUE(holds(refusal([&] { make_folders(folder / "file"); }), "cannot make folder"));
}

TEST(Publication, AppearsWholeUnderItsName) {
  const TempFolder folder;
  Publication file(folder / "out");
  file.append(bytes_of_text("first "));
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  file.append(bytes_of_text("second"));
  file.publish();
  EXPECT_EQ(read_text_file(folder / "out"), "first second");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"out"});
}

TEST(Publication, WithoutPublishTheOldFileStays) {
  const TempFolder folder;
  write_text_file(folder / "out", "old");
  {
    Publication file(folder / "out");
    file.append(bytes_of_text("new"));
    EXPECT_EQ(names_in(folder.path()).size(), 2U);
  }
  EXPECT_EQ(read_text_file(folder / "out"), "old");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"out"});
}

TEST(Publication, HonoursTheUmask) {
  const TempFolder folder;
  const mode_t before = ::umask(027);
  Publication file(folder / "out");
  file.publish();
  ::umask(before);
  struct stat status {};
  ASSERT_EQ(::stat((folder / "out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST(Publication, AFullDiskLeavesTheOldFileAndSaysHowFarItCame) {
  const TempFolder folder;
  write_text_file(folder / "out", "old");
  const std::string message = answer_of_child([&] {
    const rlimit limit{1000, 1000};
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    return refusal([&] {
      Publication file(folder / "out");
      file.append(bytes_of_text(std::string(600, 'a')));
      file.append(bytes_of_text(std::string(600, 'b')));
      file.publish();
    });
  });
  EXPECT_TRUE(holds(message, "File too large")) << message;
  EXPECT_TRUE(holds(message, "wanted 600 bytes at offset 600, done 400")) << message;
  EXPECT_EQ(read_text_file(folder / "out"), "old");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"out"});
}

TEST(Publication, AMissingFolderIsNamed) {
  const TempFolder folder;
  const std::string message = refusal([&] { Publication file(folder / "absent/out"); });
  EXPECT_TRUE(holds(message, "absent/out.part-")) << message;
  EXPECT_TRUE(holds(message, "No such file or directory")) << message;
}

}  // namespace
}  // namespace thimble
