// The one pool of threads. Work is split by index and thread count alone, or into pieces of which no number depends on
// who took them (Shares): results do not depend on timing.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace thimble {

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Part `part` of `parts` nearly equal contiguous pieces of [0, count).
constexpr Range part_of(std::int64_t count, int part, int parts) {
  return {count * part / parts, count * (part + 1) / parts};
}

using ParallelBody = void (*)(void* context, int thread, int threads);
void run_parallel(int threads, ParallelBody body, void* context) noexcept;

// Calls body(thread, threads) once on each of `threads` threads and waits. The body must not throw.
template <typename Body>
void parallel(int threads, Body&& body) noexcept {
  using Plain = std::remove_reference_t<Body>;
  run_parallel(
      threads, [](void* context, int thread, int count) { (*static_cast<Plain*>(context))(thread, count); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

// Calls body(begin, end) on contiguous pieces of [0, count), one a thread.
template <typename Body>
void parallel_for(int threads, std::int64_t count, Body&& body) noexcept {
  parallel(threads, [&](int thread, int thread_count) {
    const Range range = part_of(count, thread, thread_count);
    if (range.begin < range.end) body(range.begin, range.end);
  });
}

// [0, count) for threads that may not be equally fast: who is done takes the next piece, and pieces shrink towards the
// end, so that all end together. Who takes what is a matter of time: what is made of an index must not depend on it.
class Shares {
 public:
  // Pieces are multiples of `grain`, but for the last. Where there are few of those, or the caller wants to know who
  // takes what, each thread takes one fixed part.
  Shares(std::int64_t count, int threads, std::int64_t grain, bool is_fixed = false);

  // Calls body(piece) for the pieces that fall to `thread`.
  template <typename Body>
  void take(int thread, Body&& body) noexcept {
    if (is_fixed_) {
      const Range part = part_of(count_, thread, threads_);
      if (part.begin < part.end) body(part);
      return;
    }
    for (Range piece = next(); piece.begin < piece.end; piece = next()) body(piece);
  }

 private:
  Range next() noexcept;

  std::int64_t count_, grain_;
  int threads_;
  std::int64_t least_;
  bool is_fixed_;
  alignas(64) std::atomic<std::int64_t> taken_{0};
};

}  // namespace thimble
