// The one block of memory. Its addresses are reserved once; what is in use is touched before the first iteration, so
// that a limit is met at the start or not at all.
#pragma once

#include <cstddef>

#include "base/bytes.h"
#include "run/memory_nodes.h"

namespace thimble {

class Arena {
 public:
  // Maps, does not touch; UserError if the system refuses. `capacity`: the most it may ever be resized to; costs
  // addresses only.
  explicit Arena(Bytes bytes, Bytes capacity = 0);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void touch() noexcept;  // writes to every page

  // What lies below both sizes stays. Shrinking gives memory back to the system; growing touches what is new. False if
  // the system refuses to let it grow: then nothing has changed.
  bool resize(Bytes bytes) noexcept;

  std::byte* data() const { return data_; }
  Bytes bytes() const { return bytes_; }

 private:
  bool open(Bytes from, Bytes to) noexcept;
  void touch(Bytes from, Bytes to) noexcept;

  std::byte* data_ = nullptr;
  Bytes bytes_ = 0;
  Bytes mapped_ = 0;    // of which all pages may be used
  Bytes reserved_ = 0;  // addresses
  NodeMask nodes_ = 0;  // of memory that its pages come from in turn, if there are several
};

}  // namespace thimble
