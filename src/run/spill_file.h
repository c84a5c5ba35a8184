// The file in which values wait outside memory. Scratch: made anew for each run, all its room taken before the first
// iteration, unlinked as soon as it is open, so that a kill leaves nothing behind. Its bytes go past the page cache, or
// are dropped from it at once, so that they are charged to nobody.
#pragma once

#include <span>
#include <string>

#include "base/bytes.h"
#include "base/call.h"
#include "base/space.h"

namespace thimble {

class SpillFile {
 public:
  // UserError if the folder cannot take the file. `staging`: whole blocks of memory that start at a page. Direct I/O is
  // tried first, unless a test wants the other way.
  SpillFile(const std::string& folder, Bytes bytes, std::span<std::byte> staging, bool tries_direct = true);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // `offset` is a multiple of kSpillBlock. Through the staging memory, hence by one thread at a time. The first failure
  // is remembered.
  Status read(Bytes offset, std::span<std::byte> to) noexcept;
  Status write(Bytes offset, std::span<const std::byte> from) noexcept;

  Bytes bytes() const { return bytes_; }
  bool is_direct() const { return is_direct_; }        // false: through the page cache, and dropped from it
  bool is_in_memory() const { return is_in_memory_; }  // a file system that is memory itself: nothing is gained
  std::string error() const;                           // of the first failure; empty if there was none

 private:
  Status fail(const char* what, int code) noexcept;
  void drop(Bytes offset, Bytes bytes, bool is_written) noexcept;

  std::string folder_;
  Bytes bytes_ = 0;
  std::span<std::byte> staging_;
  int file_ = -1;
  bool is_direct_ = false;
  bool is_in_memory_ = false;
  const char* failed_ = nullptr;  // what failed first ...
  int code_ = 0;                  // ... and why
};

}  // namespace thimble
