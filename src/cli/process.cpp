#include "cli/process.h"

#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>

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
  signal(SIGXFSZ, SIG_IGN);  // a file size limit becomes an error with a message, as a full disk does
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, kMappedFrom);
  mallopt(M_TRIM_THRESHOLD, kTrimFrom);
  mallopt(M_TOP_PAD, kTopPad);
}

void release_idle_memory() {
  malloc_trim(0);
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return;
  char line[512];
  while (std::fgets(line, sizeof(line), maps) != nullptr) {
    std::uintptr_t begin = 0, end = 0;
    char rights[5] = {};
    // Executable pages of files are never written, hence can be dropped; relocated data looks alike but for that right.
    const bool is_map = std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, rights) == 3;
    if (!is_map || std::strcmp(rights, "r-xp") != 0 || std::strchr(line, '/') == nullptr) continue;
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  std::fclose(maps);
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
