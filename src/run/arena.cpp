#include "run/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace thimble {
namespace {

constexpr Bytes kPage = 4096;
constexpr int kKind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

Bytes whole_pages(Bytes bytes) { return round_up(std::max<Bytes>(bytes, 1), kPage); }

}  // namespace

Arena::Arena(Bytes bytes, Bytes capacity)
    : bytes_(bytes),
      mapped_(whole_pages(bytes)),
      reserved_(whole_pages(std::max(bytes, capacity))),
      nodes_(nodes_in_use()) {
  void* block = mmap(nullptr, static_cast<std::size_t>(reserved_), PROT_NONE, kKind, -1, 0);
  if (block == MAP_FAILED && reserved_ > mapped_) {
    // Addresses too can be limited (ulimit -v): then it cannot grow, which is no reason not to start.
    reserved_ = mapped_;
    block = mmap(nullptr, static_cast<std::size_t>(reserved_), PROT_NONE, kKind, -1, 0);
  }
  const bool is_reserved = block != MAP_FAILED;
  data_ = is_reserved ? static_cast<std::byte*>(block) : nullptr;
  if (is_reserved && open(0, mapped_)) return;
  const int error = errno;
  if (is_reserved) munmap(block, static_cast<std::size_t>(reserved_));
  fail_user(join_text("arena: the system refused ", to_bytes_text(mapped_), ": ",
                      static_cast<const char*>(std::strerror(error))));
}

Arena::~Arena() { munmap(data_, static_cast<std::size_t>(reserved_)); }

bool Arena::open(Bytes from, Bytes to) noexcept {
  const auto length = static_cast<std::size_t>(to - from);
  if (mprotect(data_ + from, length, PROT_READ | PROT_WRITE) != 0) return false;
  // A huge page at the ragged end would make more resident than was planned.
  madvise(data_ + from, length, MADV_NOHUGEPAGE);
  // One thread touches all pages, and the next tensor in a place falls to other threads: no node is the right one, and
  // one alone would have to serve all of them. Where it is not allowed, pages come as they would.
  if (std::popcount(nodes_) > 1) deal_pages(data_ + from, to - from, nodes_);
  return true;
}

void Arena::touch(Bytes from, Bytes to) noexcept {
  for (Bytes offset = from; offset < to; offset += kPage) {
    volatile std::byte* page = data_ + offset;
    *page = std::byte{0};
  }
}

void Arena::touch() noexcept { touch(0, mapped_); }

bool Arena::resize(Bytes bytes) noexcept {
  const Bytes wanted = whole_pages(bytes);
  if (wanted > reserved_) return false;
  if (wanted > mapped_) {
    if (!open(mapped_, wanted)) return false;
    touch(mapped_, wanted);
  } else if (wanted < mapped_) {
    // A new mapping in the place of the old one: its pages go, and with them the leave to use them.
    const auto length = static_cast<std::size_t>(mapped_ - wanted);
    if (mmap(data_ + wanted, length, PROT_NONE, kKind | MAP_FIXED, -1, 0) == MAP_FAILED) return false;
  }
  mapped_ = wanted;
  bytes_ = bytes;
  return true;
}

}  // namespace thimble
