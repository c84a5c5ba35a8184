// Two kinds of failure. require: the user's model, data, flags or budget is at fault. ensure: we broke a promise of our
// own. A message says where, what was found, what was wanted, and what to do. Used while compiling; the run loop uses
// Status.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace thimble {

class UserError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class InternalError : public std::logic_error {
  using std::logic_error::logic_error;
};

inline std::string to_text(std::string_view text) { return std::string(text); }
inline std::string to_text(const char* text) { return text; }
std::string to_text(double value);  // shortest text that reads back as the same number
template <typename Integer>
requires std::is_integral_v<Integer> std::string to_text(Integer value) { return std::to_string(value); }

template <typename... Parts>
std::string join_text(const Parts&... parts) {
  std::string text;
  (text.append(to_text(parts)), ...);
  return text;
}

[[noreturn]] void fail_user(std::string message);
[[noreturn]] void fail_internal(std::string message);

template <typename... Parts>
void require(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail_user(join_text(parts...));
}

template <typename... Parts>
void ensure(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail_internal(join_text(parts...));
}

}  // namespace thimble
