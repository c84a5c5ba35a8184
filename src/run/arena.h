// The one block of memory. Mapped once; touched before the first iteration, so that a limit is met at the start or not
// at all.
#pragma once

#include <cstddef>

#include "base/bytes.h"

namespace thimble {

class Arena {
 public:
  explicit Arena(Bytes bytes);  // maps, does not touch; UserError if the system refuses
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void touch() noexcept;  // writes to every page
  std::byte* data() const { return data_; }
  Bytes bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  Bytes bytes_ = 0;
  Bytes mapped_ = 0;
};

}  // namespace thimble
