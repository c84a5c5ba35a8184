// A fixed block of memory that a decoder takes pieces from, front to back: whatever a file claims, no more is ever
// touched than was planned. Pieces are never given back; the next picture starts with the whole block again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/error.h"

namespace thimble {

class Workspace {
 public:
  static constexpr std::size_t kAlignment = 64;  // what vector code of decoders asks for

  explicit Workspace(std::span<std::byte> block) : next_(block.data()), left_(block.size()), size_(block.size()) {}

  // Null if there is not enough left.
  void* take(std::size_t bytes) noexcept {
    void* place = next_;
    if (std::align(kAlignment, bytes, place, left_) == nullptr) return nullptr;
    next_ = static_cast<std::byte*>(place) + bytes;
    left_ -= bytes;
    return place;
  }

  // The same, zeroed, or UserError: `picture` needs more than was planned.
  template <typename T>
  std::span<T> take_array(std::int64_t count, std::string_view picture) {
    void* place = take(static_cast<std::size_t>(count) * sizeof(T));
    if (place == nullptr) fail(picture);
    T* first = static_cast<T*>(place);
    std::uninitialized_value_construct_n(first, count);
    return {first, static_cast<std::size_t>(count)};
  }

  [[noreturn]] void fail(std::string_view picture) const {
    fail_user(join_text(picture, ": needs more than the ", size_,
                        " bytes that are planned for a picture; make a smaller copy of it"));
  }

  std::size_t left() const { return left_; }

 private:
  std::byte* next_;
  std::size_t left_;
  std::size_t size_;
};

}  // namespace thimble
