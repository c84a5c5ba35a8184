#include "compile/reserve.h"

#include <algorithm>

namespace thimble {
namespace {

// The most of many runs of release builds, read from /proc/self/smaps after checkpoints and evaluations. How much code
// is resident varies by 0.7 MiB between runs of the same program: the system maps the neighbours of a page that is
// needed, and which those are depends on where it was loaded.
constexpr Bytes kCode = 4224 * kKiB;
constexpr Bytes kLibraries = 3584 * kKiB;
constexpr Bytes kBaseHeap = 384 * kKiB;
constexpr Bytes kHeapPerStep = 768;  // kernels, types and the packed plan: 550 measured
constexpr Bytes kStackPerThread = 64 * kKiB;
constexpr Bytes kPageTableShare = 512;  // eight bytes for every page of 4 KiB
constexpr Bytes kLeastMargin = 512 * kKiB;

}  // namespace

Reserve predict_reserve(const ReserveFacts& facts) {
  Reserve reserve;
  reserve.code = kCode + facts.resident_kernel_bytes;
  reserve.libraries = kLibraries;
  reserve.heap = kBaseHeap + kHeapPerStep * facts.step_count + facts.loading_bytes + facts.ladder_bytes;
  reserve.stacks = kStackPerThread * (facts.target.threads + 1 + (facts.has_spill_file ? 1 : 0));
  reserve.tables = round_up(facts.arena_bytes / kPageTableShare, 4096);
  const Bytes sum = reserve.code + reserve.libraries + reserve.heap + reserve.stacks + reserve.tables;
  const Bytes margin = std::max(kLeastMargin, sum / 20);
  // Rounded up to whole MiB, so that the smallest budget is the same on every run.
  reserve.margin = round_up(sum + margin, kMiB) - sum;
  return reserve;
}

}  // namespace thimble
