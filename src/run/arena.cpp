#include "run/arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace thimble {
namespace {
constexpr Bytes kPage = 4096;
}

Arena::Arena(Bytes bytes) : bytes_(bytes), mapped_(round_up(bytes > 0 ? bytes : 1, kPage)) {
  void* block = mmap(nullptr, static_cast<std::size_t>(mapped_), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(block != MAP_FAILED, "arena: the system refused ", to_bytes_text(mapped_), ": ",
          static_cast<const char*>(std::strerror(errno)));
  // A huge page at the ragged end would make more resident than was planned.
  madvise(block, static_cast<std::size_t>(mapped_), MADV_NOHUGEPAGE);
  data_ = static_cast<std::byte*>(block);
}

Arena::~Arena() { munmap(data_, static_cast<std::size_t>(mapped_)); }

void Arena::touch() noexcept {
  for (Bytes offset = 0; offset < mapped_; offset += kPage) {
    volatile std::byte* page = data_ + offset;
    *page = std::byte{0};
  }
}

}  // namespace thimble
