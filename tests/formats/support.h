// What the tests of formats share: a folder that goes away, files as texts, a child process that may change its rights.
#pragma once

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/byte_source.h"

namespace thimble::testing {

class TempFolder {
 public:
  TempFolder() : TempFolder(std::filesystem::temp_directory_path()) {}
  explicit TempFolder(const std::filesystem::path& parent) {
    std::string name = (parent / "thimble-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data()) != nullptr ? name : "";
    ensure(!path_.empty(), "test: no temporary folder");
    ::chmod(path_.c_str(), 0755);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A place in memory, if the system has one: a killed process leaves the same there, and sync costs nothing.
inline std::filesystem::path fast_parent() {
  const std::filesystem::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK | X_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

inline std::string read_text_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_text_file(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

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
