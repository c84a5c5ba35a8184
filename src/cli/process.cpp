#include "cli/process.h"

#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>

namespace thimble::cli {
namespace {

// What planning holds in larger pieces is mapped by itself, and unmapped when it is freed; the heap's top goes back
// from a small excess on.
constexpr int kMappedFrom = 64 * 1024;
constexpr int kTrimFrom = 128 * 1024;
constexpr int kTopPad = 16 * 1024;

// A signal handler reaches nothing but globals.
std::atomic<bool> stop_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_stop_signal(int) { stop_flag.store(true, std::memory_order_relaxed); }

}  // namespace

void prepare_process() {
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, kMappedFrom);
  mallopt(M_TRIM_THRESHOLD, kTrimFrom);
  mallopt(M_TOP_PAD, kTopPad);
}

const std::atomic<bool>& stop_on_signal() {
  struct sigaction action = {};
  action.sa_handler = on_stop_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return stop_flag;
}

}  // namespace thimble::cli
