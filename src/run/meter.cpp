#include "run/meter.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
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

std::optional<Bytes> field(const std::string& path, std::string_view name) {
  const std::string text = read_small_file(path.c_str());
  const std::size_t place = text.find(name);
  if (place == std::string::npos) return std::nullopt;
  return leading_number(std::string_view(text).substr(place + name.size()));
}

Bytes field_kib(const std::string& path, std::string_view name) { return field(path, name).value_or(0) * kKiB; }

// Walks from the process's own group up to the root of the hierarchy mounted at `root`.
Bytes smallest_limit(std::string group, const std::string& root, const char* file, Bytes limit) {
  for (;;) {
    const auto value = leading_number(read_small_file((root + group + "/" + file).c_str()));
    if (value && *value > 0) limit = std::min(limit, *value);
    if (group.empty() || group == "/") return limit;
    group.resize(group.find_last_of('/'));
  }
}

// Our groups in the hierarchies that may bound memory; empty: none of that kind.
struct Groups {
  std::string unified, memory;
};

Groups find_groups(const MeterFiles& files) {
  Groups groups;
  const std::string text = read_small_file((files.proc + "/self/cgroup").c_str());
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string line = text.substr(start, end - start);
    start = end + 1;
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",",
                      group = line.substr(second + 1);
    if (!group.starts_with('/')) continue;
    if (controllers == ",,") groups.unified = group;
    if (controllers.find(",memory,") != std::string::npos) groups.memory = group;
  }
  return groups;
}

}  // namespace

Bytes peak_resident_bytes() { return field_kib("/proc/self/status", "VmHWM:"); }
Bytes resident_bytes() { return field_kib("/proc/self/status", "VmRSS:"); }

bool reset_peak_resident() {
  const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool is_written = write(file, "5", 1) == 1;
  close(file);
  return is_written;
}

Bytes memory_limit_bytes(const MeterFiles& files) {
  Bytes limit = field_kib(files.proc + "/meminfo", "MemTotal:");
  const Groups groups = find_groups(files);
  if (!groups.unified.empty()) {
    for (const char* file : {"memory.max", "memory.high"})
      limit = smallest_limit(groups.unified, files.cgroups, file, limit);
  }
  if (!groups.memory.empty()) {
    for (const char* file : {"memory.limit_in_bytes", "memory.soft_limit_in_bytes"})
      limit = smallest_limit(groups.memory, files.cgroups + "/memory", file, limit);
  }
  return limit;
}

std::int64_t memory_stall_microseconds(const MeterFiles& files) {
  constexpr std::string_view kTotal = "total=";  // of the first line, "some": at least one task waits
  const std::string group = find_groups(files).unified;
  if (!group.empty() && group != "/") {
    if (const auto own = field(files.cgroups + group + "/memory.pressure", kTotal)) return *own;
  }
  return field(files.proc + "/pressure/memory", kTotal).value_or(0);
}

}  // namespace thimble
