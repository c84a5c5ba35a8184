#include "run/memory_nodes.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace thimble {
namespace {

constexpr int kMostNodes = 64;
constexpr int kInterleave = 3;  // MPOL_INTERLEAVE of <linux/mempolicy.h>

// Whether one of the processors is in a list such as "0-3,8": the system's way to write sets.
bool has_any(std::istream& list, const cpu_set_t& processors) {
  for (int first = 0; list >> first; list.ignore(1, ',')) {
    int last = first;
    if (list.peek() == '-') list.ignore() >> last;
    for (int processor = std::max(first, 0); processor <= std::min(last, CPU_SETSIZE - 1); ++processor) {
      if (CPU_ISSET(processor, &processors)) return true;
    }
  }
  return false;
}

}  // namespace

NodeMask nodes_of(const cpu_set_t& processors, const std::filesystem::path& root) {
  NodeMask nodes = 0;
  for (int node = 0; node < kMostNodes; ++node) {
    std::ifstream list(root / ("node" + std::to_string(node)) / "cpulist");
    if (list && has_any(list, processors)) nodes |= NodeMask{1} << node;
  }
  return nodes;
}

NodeMask nodes_in_use() {
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof(processors), &processors) != 0) return 0;
  return nodes_of(processors);
}

bool deal_pages(std::byte* data, Bytes bytes, NodeMask nodes) noexcept {
  // The system takes one bit less than it is told of.
  return syscall(SYS_mbind, data, static_cast<unsigned long>(bytes), kInterleave, &nodes, kMostNodes + 1UL, 0U) == 0;
}

}  // namespace thimble
