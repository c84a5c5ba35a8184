// What the tests of formats share: refusals, texts as sources, a child process that may change its rights.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "base/error.h"
#include "formats/byte_source.h"
#include "support/files.h"

namespace thimble::testing {

// The message of the UserError that `action` throws; "" if it throws none.
template <typename Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

inline ByteSource text_source(std::string_view text) { return memory_source(bytes_of_text(text), "input"); }

// Runs `body` in a child process and returns its answer: limits, mounts and user ids it changes die with it.
inline std::string answer_of_child(const std::function<std::string()>& body) {
  int ends[2];
  ensure(::pipe(ends) == 0, "test: no pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    std::string answer;
    try {
      answer = body();
    } catch (const std::exception& error) {
      answer = std::string("unexpected: ") + error.what();
    }
    const ssize_t written = ::write(ends[1], answer.data(), answer.size());
    ::_exit(written == static_cast<ssize_t>(answer.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string answer;
  char buffer[1024];
  for (ssize_t count = 0; (count = ::read(ends[0], buffer, sizeof(buffer))) > 0;)
    answer.append(buffer, static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? answer : "the child died";
}

}  // namespace thimble::testing
