// Runs the real program and catches what it says.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "support/files.h"

namespace thimble::testing {

using Words = std::vector<std::string>;

inline Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

struct Outcome {
  int code = -1;  // of the exit; -1 if a signal ended it
  std::string out, err;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A file of a run's checkpoint after `iteration`.
inline std::string checkpoint_path(const std::string& run, int iteration, const std::string& file) {
  char name[32];
  std::snprintf(name, sizeof(name), "/step-%09d/", iteration);
  return run + name + file;
}

inline std::string weights_of(const std::string& run, int iteration) {
  return read_text_file(checkpoint_path(run, iteration, "model.safetensors"));
}

// In a child: whatever it prints meets a full disk, whichever descriptors are free.
inline void put_full_disk_behind_stdout() {
  if (::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO) < 0) _exit(127);
}

// `while_running` is called with the child's id once it has been started, `in_child` in the child before the program.
inline Outcome run_thimble(const Words& words, const std::function<void(pid_t)>& while_running = {},
                           const std::function<void()>& in_child = {}) {
  const char* given = std::getenv("THIMBLE_BINARY");
  const std::string program = given != nullptr ? given : "build/release/thimble";
  const TempFolder folder;
  const std::string out = folder / "out", err = folder / "err";
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> arguments = {const_cast<char*>(program.c_str())};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const bool ok =
        std::freopen(out.c_str(), "wb", stdout) != nullptr && std::freopen(err.c_str(), "wb", stderr) != nullptr;
    ::unsetenv("THIMBLE_DATA");
    if (in_child) in_child();
    if (ok) execv(program.c_str(), arguments.data());
    _exit(127);
  }
  if (while_running) while_running(child);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text_file(out), read_text_file(err)};
}

// A run of moments: small, and its data set needs no files.
inline Words tiny_train(const Words& more) {
  return with({"train", "lenet-300-100", "--data", "glyphs", "--batch", "16", "--threads", "1", "--steps", "4"}, more);
}

}  // namespace thimble::testing
