#include "cli/control_pipe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace thimble::cli {
namespace {

constexpr std::size_t kLongestLine = 120;  // of what is kept; a command is far shorter
constexpr std::size_t kFairShare = 4096;   // bytes read at a time

std::string error_text() { return std::strerror(errno); }

}  // namespace

ControlPipe::ControlPipe(const std::string& path) : path_(path) {
  is_ours_ = mkfifo(path.c_str(), S_IRUSR | S_IWUSR) == 0;
  require(is_ours_ || errno == EEXIST, "--control ", path, ": cannot make a named pipe there: ", error_text());
  // Open for writing too, which Linux allows: the pipe then has a writer at all times, so that it neither ends when the
  // last one leaves nor waits for the first.
  file_ = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
  struct stat facts = {};
  const bool is_pipe = file_ >= 0 && fstat(file_, &facts) == 0 && S_ISFIFO(facts.st_mode);
  if (is_pipe) return;
  const std::string reason = file_ >= 0 ? "found something else there, wanted a named pipe or nothing" : error_text();
  if (file_ >= 0) close(file_);
  if (is_ours_) unlink(path.c_str());
  fail_user(join_text("--control ", path, ": ", reason));
}

ControlPipe::~ControlPipe() {
  struct stat held = {}, found = {};
  const bool is_same = fstat(file_, &held) == 0 && lstat(path_.c_str(), &found) == 0 && held.st_ino == found.st_ino &&
                       held.st_dev == found.st_dev;
  if (is_ours_ && is_same) unlink(path_.c_str());
  close(file_);
}

void ControlPipe::read_lines(const std::function<void(std::string_view)>& take) {
  char bytes[kFairShare];
  const ssize_t got = read(file_, bytes, sizeof(bytes));
  if (got <= 0) return;
  for (const char byte : std::string_view(bytes, static_cast<std::size_t>(got))) {
    if (byte != '\n') {
      if (line_.size() < kLongestLine) line_ += byte;
      continue;
    }
    take(line_);
    line_.clear();
  }
}

}  // namespace thimble::cli
