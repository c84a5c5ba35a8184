#include "data/child_process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "data/file.h"

namespace thimble {
namespace {

std::string reason_of(int error) { return std::system_category().message(error); }

// Only what is safe between fork and exec.
[[noreturn]] void become(char* const* words, std::int64_t most_file_bytes, int failure) {
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(most_file_bytes));
  ::setrlimit(RLIMIT_FSIZE, &limit);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  ::execvp(words[0], words);
  const int error = errno;
  const ssize_t told = ::write(failure, &error, sizeof(error));
  ::_exit(told == sizeof(error) ? 127 : 126);
}

}  // namespace

std::optional<ChildEnd> run_child(const std::vector<std::string>& words, std::int64_t most_file_bytes) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  int ends[2];
  require(::pipe2(ends, O_CLOEXEC) == 0, words[0], ": cannot be started: ", reason_of(errno));
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const pid_t child = ::fork();
  require(child >= 0, words[0], ": cannot be started: ", reason_of(errno));
  if (child == 0) become(pointers.data(), most_file_bytes, writing.get());
  writing = Descriptor(-1);
  // The pipe closes by itself if the program starts; otherwise it tells why it did not.
  int error = 0;
  const bool has_failed = ::read(reading.get(), &error, sizeof(error)) == sizeof(error);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (has_failed && error == ENOENT) return std::nullopt;
  require(!has_failed, words[0], ": cannot be started: ", reason_of(error));
  if (WIFSIGNALED(status)) return ChildEnd{.code = 0, .signal = WTERMSIG(status)};
  return ChildEnd{.code = WEXITSTATUS(status), .signal = 0};
}

}  // namespace thimble
