// The one pool of threads. Work is split by index and thread count alone, so results do not depend on timing.
#pragma once

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

}  // namespace thimble
