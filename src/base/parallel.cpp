#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace thimble {
namespace {

// Kernels follow one another within microseconds, and waking a sleeper takes longer than that: who waits looks so many
// times before it sleeps. No longer, so that on a busy machine it is not the wait that keeps others from the cores.
constexpr int kLooks = 4000;

void pause() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

template <typename T>
void wait_while(const std::atomic<T>& seen, T value) noexcept {
  for (int look = 0; look < kLooks; ++look) {
    if (seen.load(std::memory_order_acquire) != value) return;
    pause();
  }
  seen.wait(value, std::memory_order_acquire);
}

struct Job {
  ParallelBody body = nullptr;
  void* context = nullptr;
  int threads = 1;
};

thread_local bool is_inside = false;  // of a body: what it splits runs one piece after the other

void run_pieces(const Job& job) noexcept {
  for (int thread = 0; thread < job.threads; ++thread) job.body(job.context, thread, job.threads);
}

class Pool {
 public:
  // One caller at a time; a second one does its work alone.
  void run(const Job& job) noexcept {
    const std::unique_lock lock(one_caller_, std::try_to_lock);
    if (!lock.owns_lock() || !has_workers(job.threads - 1)) return run_pieces(job);
    job_ = job;
    busy_.store(job.threads - 1, std::memory_order_relaxed);
    for (int w = 0; w < job.threads - 1; ++w) {
      std::atomic<std::uint32_t>& turn = workers_[static_cast<std::size_t>(w)]->turn;
      turn.fetch_add(1, std::memory_order_release);
      turn.notify_one();
    }
    is_inside = true;
    job.body(job.context, 0, job.threads);
    is_inside = false;
    for (int left = busy_.load(std::memory_order_acquire); left > 0; left = busy_.load(std::memory_order_acquire))
      wait_while(busy_, left);
  }

 private:
  struct alignas(64) Worker {
    std::atomic<std::uint32_t> turn{0};  // a job has begun whenever it changes
  };

  // Threads that the system does not grant are done without: the work is the same.
  bool has_workers(int count) noexcept {
    try {
      while (static_cast<int>(workers_.size()) < count) {
        auto worker = std::make_unique<Worker>();
        const int thread = static_cast<int>(workers_.size()) + 1;
        workers_.reserve(workers_.size() + 1);
        std::thread([this, thread, turn = &worker->turn] { serve(thread, *turn); }).detach();
        workers_.push_back(std::move(worker));
      }
    } catch (const std::exception&) {
      return false;
    }
    return true;
  }

  [[noreturn]] void serve(int thread, const std::atomic<std::uint32_t>& turn) noexcept {
    is_inside = true;
    for (std::uint32_t seen = 0;; ++seen) {
      while (turn.load(std::memory_order_acquire) == seen) wait_while(turn, seen);
      job_.body(job_.context, thread, job_.threads);
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
    }
  }

  std::mutex one_caller_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Job job_;
  std::atomic<int> busy_{0};
};

constexpr std::int64_t kFewGrains = 8;    // a thread: to wait for the last would cost more than waiting for a slow one
constexpr std::int64_t kLeastParts = 64;  // a thread's share in pieces of the smallest size

std::int64_t rounded_up(std::int64_t count, std::int64_t grain) { return (count + grain - 1) / grain * grain; }

}  // namespace

Shares::Shares(std::int64_t count, int threads, std::int64_t grain, bool is_fixed)
    : count_(count),
      grain_(grain),
      threads_(std::max(threads, 1)),
      least_(rounded_up(count / (kLeastParts * threads_) + 1, grain)),
      is_fixed_(is_fixed || threads_ == 1 || count < kFewGrains * threads_ * grain) {}

Range Shares::next() noexcept {
  std::int64_t begin = taken_.load(std::memory_order_relaxed), end = begin;
  do {
    if (begin >= count_) return {};
    const std::int64_t half = rounded_up((count_ - begin) / (2 * threads_), grain_);
    end = std::min(count_, begin + std::max(least_, half));
  } while (!taken_.compare_exchange_weak(begin, end, std::memory_order_relaxed));
  return {begin, end};
}

void run_parallel(int threads, ParallelBody body, void* context) noexcept {
  const Job job{body, context, threads < 1 ? 1 : threads};
  if (job.threads == 1 || is_inside) return run_pieces(job);
  static Pool& pool = *new Pool;  // never destroyed: its threads may outlive everything static
  pool.run(job);
}

}  // namespace thimble
