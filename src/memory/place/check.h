// Judges a placement without sharing code with the strategies that make one.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "memory/place/request.h"

namespace thimble {

// Nothing if every offset is aligned, every request lies inside [0, bytes) and no two that are alive at one step share
// a byte; else the first fault found, with the requests and numbers that prove it.
std::optional<std::string> find_fault(std::span<const Request> requests, const Placement& placement);

}  // namespace thimble
