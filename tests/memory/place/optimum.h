// The least bytes any placement of a few requests needs, by trying everything. Shares no code with the strategies.
#pragma once

#include <span>

#include "memory/place/request.h"

namespace thimble {

Bytes optimum(std::span<const Request> requests);  // for at most eight requests

}  // namespace thimble
