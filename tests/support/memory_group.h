// A group of the cgroup v1 memory controller, gone with the object; not made where the system does not let us.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/files.h"

namespace thimble::testing {

class MemoryGroup {
 public:
  explicit MemoryGroup(std::int64_t limit) : path_("/sys/fs/cgroup/memory/thimble-test-" + std::to_string(::getpid())) {
    std::error_code ignored;
    std::filesystem::create_directory(path_, ignored);
    is_made_ = set("memory.limit_in_bytes", limit);
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;
  ~MemoryGroup() { ::rmdir(path_.c_str()); }

  bool is_made() const { return is_made_; }
  // False if the system did not take it; limits count whole pages.
  bool set(const std::string& file, std::int64_t bytes) const {
    write_text_file(path_ + "/" + file, std::to_string(bytes));
    return read_text_file(path_ + "/" + file).find(std::to_string(bytes / 4096 * 4096)) != std::string::npos;
  }
  std::int64_t get(const std::string& file) const { return std::stoll(read_text_file(path_ + "/" + file)); }
  // Moves this process in, so that the program is born there; leave() moves it out again.
  void enter() const { write_text_file(path_ + "/cgroup.procs", std::to_string(::getpid())); }
  static void leave() { write_text_file("/sys/fs/cgroup/memory/cgroup.procs", std::to_string(::getpid())); }

 private:
  std::string path_;
  bool is_made_ = false;
};

}  // namespace thimble::testing
