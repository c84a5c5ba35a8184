// The line that says what a long wait is for, read at the other end of a pipe.
#include "report/waiting_line.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

namespace thimble {
namespace {

using namespace std::chrono_literals;

struct Pipe {
  int read_end = -1;
  std::FILE* out = nullptr;

  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    read_end = ends[0];
    out = fdopen(ends[1], "w");
  }
  ~Pipe() {
    if (out != nullptr) std::fclose(out);
    close(read_end);
  }

  // Waits until `count` bytes have come, or the writer has closed its end.
  std::string read_up_to(std::size_t count) const {
    std::string text;
    char byte = 0;
    while (text.size() < count && ::read(read_end, &byte, 1) == 1) text += byte;
    return text;
  }
  std::string close_and_read() {
    std::fclose(out);
    out = nullptr;
    return read_up_to(1000);
  }
};

TEST(WaitingLine, IsShownAndErased) {
  Pipe pipe;
  const std::string expected = "\r\033[Kplanning lenet, 0 s";
  {
    const WaitingLine line(pipe.out, "planning lenet", 0ms);
    EXPECT_EQ(pipe.read_up_to(expected.size()), expected);
  }
  EXPECT_TRUE(pipe.close_and_read().ends_with("\r\033[K"));
}

TEST(WaitingLine, IsNotShownForAShortWait) {
  Pipe pipe;
  { const WaitingLine line(pipe.out, "planning lenet", 1h); }
  EXPECT_EQ(pipe.close_and_read(), "");
}

TEST(WaitingLine, IsNotShownWithoutATerminal) {
  // No thread either: the destructor would have nothing to erase and nobody to wait for.
  EXPECT_NO_THROW(WaitingLine(nullptr, "planning lenet", 0ms));
}

}  // namespace
}  // namespace thimble
