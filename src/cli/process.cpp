#include "cli/process.h"

#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace thimble::cli {
namespace {

// What planning holds in larger pieces is mapped by itself, and unmapped when it is freed; the heap's top goes back
// from a small excess on.
constexpr int kMappedFrom = 64 * 1024;
constexpr int kTrimFrom = 128 * 1024;
constexpr int kTopPad = 16 * 1024;
// One for us, one for the compiler and one for who waits for it; later threads take over what these leave.
constexpr int kHeaps = 3;

constexpr std::uintptr_t kPage = 4096;

// A signal handler reaches nothing but globals.
std::atomic<bool> stop_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_stop_signal(int) { stop_flag.store(true, std::memory_order_relaxed); }

// Code and constants of the program and of its libraries, in whole pages: never written, not even by the loader.
template <typename Visit>
void for_each_constant_part(Visit visit) {
  const auto visit_object = [](dl_phdr_info* object, std::size_t, void* context) {
    for (const ElfW(Phdr) & part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
      if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0) continue;
      const std::uintptr_t address = object->dlpi_addr + part.p_vaddr;
      const std::uintptr_t begin = address / kPage * kPage;
      const std::uintptr_t end = (address + part.p_memsz + kPage - 1) / kPage * kPage;
      (*static_cast<Visit*>(context))(reinterpret_cast<std::byte*>(begin), end - begin);
    }
    return 0;
  };
  dl_iterate_phdr(visit_object, &visit);
}

// Where a page of a file is needed, the system maps its neighbours too, 64 KiB together, as far as one mapping goes:
// two thirds of the code that would be resident is never run. Pages that differ in a flag are mappings of their own,
// and whether a core dump has a page is a flag that nothing else looks at; dumps leave unchanged pages of files out
// anyway.
//
// Nor may a page that is not in memory bring its neighbours along from the disk: pages that are being read cannot be
// taken back, so that a group near its limit would be killed for them. Systems read up to 8 MiB ahead.
void map_pages_singly() {
  for_each_constant_part([](std::byte* begin, std::size_t bytes) {
    madvise(begin, bytes, MADV_RANDOM);
    for (std::size_t offset = 0; offset < bytes; offset += 2 * kPage) madvise(begin + offset, kPage, MADV_DONTDUMP);
  });
}

// Huge pages are for the arena, which asks for them: heaps and stacks would only grow by them. Where the system gives
// them unasked and cannot tell the two apart (before Linux 6.18), there are none.
void take_huge_pages_where_asked() {
  constexpr unsigned long kExceptAdvised = 1UL << 1;  // PR_THP_DISABLE_EXCEPT_ADVISED
  if (prctl(PR_SET_THP_DISABLE, 1, kExceptAdvised, 0, 0) == 0) return;
  char setting[64] = {};  // as in "always [madvise] never"
  const int file = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);
  const bool is_known = file >= 0 && read(file, setting, sizeof(setting) - 1) > 0;
  if (file >= 0) close(file);
  if (!is_known || std::strstr(setting, "[madvise]") == nullptr) prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

}  // namespace

void prepare_process() {
  signal(SIGXFSZ, SIG_IGN);  // a file size limit becomes an error with a message, as a full disk does
  take_huge_pages_where_asked();
  map_pages_singly();
  mallopt(M_ARENA_MAX, kHeaps);
  mallopt(M_MMAP_THRESHOLD, kMappedFrom);
  mallopt(M_MXFAST, 0);  // what is freed joins its neighbours at once, and the top goes back
  mallopt(M_TRIM_THRESHOLD, kTrimFrom);
  mallopt(M_TOP_PAD, kTopPad);
}

void release_idle_memory() {
  malloc_trim(0);
  for_each_constant_part([](std::byte* begin, std::size_t bytes) { madvise(begin, bytes, MADV_DONTNEED); });
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
