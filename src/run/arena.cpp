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
constexpr Bytes kHugePage = 2 * kMiB;  // where the system's are larger, none lies whole inside and none is taken
constexpr int kKind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

Bytes whole_pages(Bytes bytes) { return round_up(std::max<Bytes>(bytes, 1), kPage); }

std::byte* map_addresses(Bytes bytes) noexcept {
  void* block = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_NONE, kKind, -1, 0);
  return block == MAP_FAILED ? nullptr : static_cast<std::byte*>(block);
}

bool is_at_huge_page(const std::byte* data) { return reinterpret_cast<std::uintptr_t>(data) % kHugePage == 0; }

// Addresses from the beginning of a huge page on, if there are enough to choose from; null if there are too few at all.
std::byte* reserve(Bytes bytes) noexcept {
  std::byte* block = map_addresses(bytes + kHugePage);
  if (block == nullptr) return map_addresses(bytes);
  const auto address = static_cast<Bytes>(reinterpret_cast<std::uintptr_t>(block));
  const Bytes before = round_up(address, kHugePage) - address;
  if (before > 0) munmap(block, static_cast<std::size_t>(before));
  munmap(block + before + bytes, static_cast<std::size_t>(kHugePage - before));
  return block + before;
}

}  // namespace

Arena::Arena(Bytes bytes, Bytes capacity)
    : bytes_(bytes),
      mapped_(whole_pages(bytes)),
      reserved_(whole_pages(std::max(bytes, capacity))),
      nodes_(nodes_in_use()) {
  data_ = reserve(reserved_);
  if (data_ == nullptr && reserved_ > mapped_) {
    // Addresses too can be limited (ulimit -v): then it cannot grow, which is no reason not to start.
    reserved_ = mapped_;
    data_ = reserve(reserved_);
  }
  if (data_ != nullptr && open(0, mapped_)) return;
  const int error = errno;
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(reserved_));
  fail_user(join_text("arena: the system refused ", to_bytes_text(mapped_), ": ",
                      static_cast<const char*>(std::strerror(error))));
}

Arena::~Arena() { munmap(data_, static_cast<std::size_t>(reserved_)); }

bool Arena::open(Bytes from, Bytes to) noexcept {
  const auto length = static_cast<std::size_t>(to - from);
  if (mprotect(data_ + from, length, PROT_READ | PROT_WRITE) != 0) return false;
  // Processors find their way in huge pages with fewer misses; but one at a ragged end would make more resident than
  // was planned.
  madvise(data_ + from, length, MADV_NOHUGEPAGE);
  const Bytes first_whole = round_up(from, kHugePage), last_whole = to / kHugePage * kHugePage;
  if (is_at_huge_page(data_) && first_whole < last_whole)
    madvise(data_ + first_whole, static_cast<std::size_t>(last_whole - first_whole), MADV_HUGEPAGE);
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
    // A new mapping in the place of the old one: its pages go, and with them the leave to use them. Of a huge page the
    // rest would wait until the system runs short; advice on a part of it makes it small pages before.
    const auto length = static_cast<std::size_t>(mapped_ - wanted);
    madvise(data_ + wanted, static_cast<std::size_t>(kPage), MADV_COLD);
    if (mmap(data_ + wanted, length, PROT_NONE, kKind | MAP_FIXED, -1, 0) == MAP_FAILED) return false;
  }
  mapped_ = wanted;
  bytes_ = bytes;
  return true;
}

}  // namespace thimble
