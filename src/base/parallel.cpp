#include "base/parallel.h"

#if defined(THIMBLE_OPENMP)

namespace thimble {

// OpenMP's pool, because oneDNN uses it too: a second pool would fight it for the cores.
void run_parallel(int threads, ParallelBody body, void* context) noexcept {
  if (threads <= 1) {
    body(context, 0, 1);
    return;
  }
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int thread = 0; thread < threads; ++thread) body(context, thread, threads);
}

}  // namespace thimble

#else

#include <thread>
#include <vector>

namespace thimble {

// Plain threads: for thread sanitizer builds, which cannot see inside an OpenMP run-time.
void run_parallel(int threads, ParallelBody body, void* context) noexcept {
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(body, context, thread, threads);
  body(context, 0, threads <= 1 ? 1 : threads);
  for (std::thread& other : others) other.join();
}

}  // namespace thimble

#endif
