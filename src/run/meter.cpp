#include "run/meter.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

namespace thimble {
namespace {

// Small files of /proc and /sys, whole. No streams: their buffers would count against what is measured.
std::string read_small_file(const char* path) {
  char buffer[8192];
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::size_t used = 0;
  while (used < sizeof(buffer)) {
    const ssize_t got = read(file, buffer + used, sizeof(buffer) - used);
    if (got <= 0) break;
    used += static_cast<std::size_t>(got);
  }
  close(file);
  return {buffer, used};
}

std::optional<Bytes> leading_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  Bytes value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) return std::nullopt;
  return value;
}

Bytes field_kib(const char* path, std::string_view name) {
  const std::string text = read_small_file(path);
  const std::size_t place = text.find(name);
  if (place == std::string::npos) return 0;
  return leading_number(std::string_view(text).substr(place + name.size())).value_or(0) * kKiB;
}

// Walks from the process's own group up to the root of the hierarchy mounted at `root`.
Bytes smallest_limit(std::string group, const std::string& root, const char* file, Bytes limit) {
  for (;;) {
    const auto value = leading_number(read_small_file((root + group + "/" + file).c_str()));
    if (value && *value > 0) limit = std::min(limit, *value);
    if (group.empty() || group == "/") return limit;
    group.resize(group.find_last_of('/'));
  }
}

}  // namespace

Bytes peak_resident_bytes() { return field_kib("/proc/self/status", "VmHWM:"); }
Bytes resident_bytes() { return field_kib("/proc/self/status", "VmRSS:"); }

Bytes memory_limit_bytes() {
  Bytes limit = field_kib("/proc/meminfo", "MemTotal:");
  const std::string groups = read_small_file("/proc/self/cgroup");
  std::size_t start = 0;
  while (start < groups.size()) {
    const std::size_t end = std::min(groups.find('\n', start), groups.size());
    const std::string line = groups.substr(start, end - start);
    start = end + 1;
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",",
                      group = line.substr(second + 1);
    if (controllers == ",,") limit = smallest_limit(group, "/sys/fs/cgroup", "memory.max", limit);
    if (controllers.find(",memory,") != std::string::npos) {
      limit = smallest_limit(group, "/sys/fs/cgroup/memory", "memory.limit_in_bytes", limit);
    }
  }
  return limit;
}

}  // namespace thimble
