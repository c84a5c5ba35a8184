// Machines whose memory hangs on several nodes, each near to some of the processors (NUMA).
#pragma once

#include <sched.h>

#include <cstdint>
#include <filesystem>

#include "base/bytes.h"

namespace thimble {

using NodeMask = std::uint64_t;  // bit n: node n

// Nodes that have one of these processors, by what the system says in `root`; none if it says nothing.
NodeMask nodes_of(const cpu_set_t& processors, const std::filesystem::path& root = "/sys/devices/system/node");

// Nodes near to the processors that this process may use.
NodeMask nodes_in_use();

// Pages of [data, data + bytes) that are not yet touched come from these nodes in turn. False if the system refuses.
bool deal_pages(std::byte* data, Bytes bytes, NodeMask nodes) noexcept;

}  // namespace thimble
