#include "formats/json_lines.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "formats/json_text.h"
#include "formats/support.h"

namespace thimble {
namespace {

using namespace testing;

std::string line(std::int64_t iteration) {
  return JsonObject().integer("iteration", iteration).number("loss", 0.5).to_string();
}

std::string lines(std::int64_t first, std::int64_t last) {
  std::string text;
  for (std::int64_t iteration = first; iteration <= last; ++iteration) text += line(iteration) + "\n";
  return text;
}

TEST(JsonLines, AppendsToWhatIsThere) {
  const TempFolder folder;
  JsonLinesWriter(folder / "log").append(line(1));
  {
    JsonLinesWriter log(folder / "log");
    log.append(line(2));
    log.append(line(3));
    EXPECT_EQ(read_text_file(folder / "log"), lines(1, 3));  // visible at once, before closing
    log.sync();
  }
  EXPECT_EQ(read_text_file(folder / "log"), lines(1, 3));
}

TEST(JsonLines, ATornLastLineIsCutOffWhereverItTore) {
  const TempFolder folder;
  const std::string last = line(3);
  for (std::size_t torn = 1; torn <= last.size(); ++torn) {
    write_text_file(folder / "log", lines(1, 2) + last.substr(0, torn));
    JsonLinesWriter(folder / "log").append(line(9));
    EXPECT_EQ(read_text_file(folder / "log"), lines(1, 2) + line(9) + "\n") << torn;
  }
  write_text_file(folder / "log", lines(1, 2) + std::string(4096, '\0'));  // what a power failure may leave
  const JsonLinesWriter log(folder / "log");
  EXPECT_EQ(read_text_file(folder / "log"), lines(1, 2));
}

TEST(JsonLines, SomeoneElsesFileIsLeftAlone) {
  const TempFolder folder;
  for (const std::string& text :
       {std::string("my notes"), std::string("a\nb"), std::string(100000, 'x'), std::string(100000, '{')}) {
    write_text_file(folder / "log", text);
    EXPECT_NE(refusal([&] { JsonLinesWriter log(folder / "log"); }), "");
    EXPECT_EQ(read_text_file(folder / "log"), text);
  }
}

TEST(JsonLines, IsCutBackToAnIteration) {
  const TempFolder folder;
  write_text_file(folder / "log", lines(1, 10));
  JsonLinesWriter log(folder / "log");
  const LogCut cut = log.truncate_after(7);
  EXPECT_EQ(cut.lines_kept, 7);
  EXPECT_EQ(cut.lines_removed, 3);
  EXPECT_EQ(cut.bytes_removed, static_cast<Bytes>(lines(8, 10).size()));
  EXPECT_EQ(read_text_file(folder / "log"), lines(1, 7));
  log.append(line(8));
  EXPECT_EQ(read_text_file(folder / "log"), lines(1, 8));
  EXPECT_EQ(log.truncate_after(100).lines_removed, 0);
  EXPECT_EQ(log.truncate_after(0).lines_kept, 0);
  EXPECT_EQ(read_text_file(folder / "log"), "");
}

TEST(JsonLines, LinesWithoutAnIterationGoWithTheirNeighbours) {
  const TempFolder folder;
  const std::string start = "{\"event\":\"start\",\"inner\":{\"iteration\":99},\"list\":[{\"iteration\":99}]}\n";
  const std::string end = "{\"event\":\"end\",\"iteration\":\"99\"}\n";
  write_text_file(folder / "log", start + lines(1, 2) + end + lines(3, 4) + end);
  JsonLinesWriter log(folder / "log");
  const LogCut cut = log.truncate_after(2);
  EXPECT_EQ(read_text_file(folder / "log"), start + lines(1, 2) + end);
  EXPECT_EQ(cut.lines_unreadable, 0);
  EXPECT_EQ(cut.lines_removed, 3);
}

TEST(JsonLines, UnreadableLinesAreKeptAndCounted) {
  const TempFolder folder;
  const std::string odd = "# edited by hand\n\n{\"iteration\":\n" + std::string(70000, 'x') + "\n\xff\n";
  write_text_file(folder / "log", lines(1, 1) + odd + lines(2, 3));
  JsonLinesWriter log(folder / "log");
  const LogCut cut = log.truncate_after(2);
  EXPECT_EQ(read_text_file(folder / "log"), lines(1, 1) + odd + lines(2, 2));
  EXPECT_EQ(cut.lines_unreadable, 5);
  EXPECT_EQ(cut.lines_kept, 7);
}

TEST(JsonLines, LongLogsAreCutAtTheRightByteAcrossChunks) {
  const TempFolder folder;
  write_text_file(folder / "log", lines(1, 9000));
  ASSERT_GT(std::filesystem::file_size(folder / "log"), 4U * kChunkBytes);
  JsonLinesWriter log(folder / "log");
  for (const std::int64_t iteration : {8999, 5000, 2048, 3, 1}) {
    log.truncate_after(iteration);
    EXPECT_EQ(read_text_file(folder / "log"), lines(1, iteration));
  }
}

TEST(JsonLines, AFullDiskTearsNoLineIntoTheNext) {
  const TempFolder folder;
  const std::string message = answer_of_child([&] {
    JsonLinesWriter log(folder / "log");
    log.append(line(1));
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit tight{line(1).size() + 10, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &tight);
    const std::string failure = refusal([&] { log.append(line(2)); });
    const rlimit wide{RLIM_INFINITY, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &wide);
    log.append(line(3));
    return failure;
  });
  EXPECT_NE(message.find("File too large"), std::string::npos) << message;
  EXPECT_EQ(read_text_file(folder / "log"), line(1) + "\n" + line(3) + "\n");
}

TEST(JsonLines, OnlySingleObjectsAreTaken) {
  const TempFolder folder;
  JsonLinesWriter log(folder / "log");
  for (const char* text : {"", "1", "{", "[]", "{\n}"}) EXPECT_THROW(log.append(text), InternalError) << text;
  EXPECT_THROW(log.append("{" + std::string(70000, ' ') + "}"), InternalError);
  EXPECT_EQ(read_text_file(folder / "log"), "");
}

}  // namespace
}  // namespace thimble
