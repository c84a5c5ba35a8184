#include "memory/place/request.h"

#include <limits>

#include "base/error.h"

namespace thimble {

void ensure_sound(std::span<const Request> requests) {
  // Offsets never exceed the sum of all sizes, so a bounded sum makes every later addition safe.
  constexpr Bytes kMost = std::numeric_limits<Bytes>::max() / 4;
  Bytes total = 0;
  for (std::size_t index = 0; index < requests.size(); ++index) {
    const Request& request = requests[index];
    ensure(request.bytes >= 0 && request.bytes <= kMost - total, "request ", index, " wants ", request.bytes,
           " bytes beside ", total, " of others; wanted 0 to ", kMost, " in total");
    ensure(request.first_step <= request.last_step, "request ", index, " lives from step ", request.first_step, " to ",
           request.last_step, "; wanted a last step that is not before the first");
    total += aligned_bytes(request);
  }
}

}  // namespace thimble
