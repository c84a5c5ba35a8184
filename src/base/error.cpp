#include "base/error.h"

#include <charconv>

namespace thimble {

std::string to_text(double value) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return {buffer, result.ptr};
}

void fail_user(std::string message) { throw UserError(std::move(message)); }
void fail_internal(std::string message) { throw InternalError(std::move(message)); }

}  // namespace thimble
