#include "compile/reserve.h"

#include <algorithm>

namespace thimble {
namespace {

// The most of many runs of release builds, read from /proc/self/smaps after checkpoints and evaluations, for a program
// that is linked whole and maps its pages singly.
constexpr Bytes kCode = 1344 * kKiB;
constexpr Bytes kLibraries = 448 * kKiB;
constexpr Bytes kBaseHeap = 256 * kKiB;
constexpr Bytes kHeapPerStep = 768;  // kernels, types and the packed plan: at most 630 measured, in DenseNet
constexpr Bytes kStackPerThread = 64 * kKiB;
constexpr Bytes kPageTableShare = 512;  // eight bytes for every page of 4 KiB
// In a cgroup the kernel's records of 2,500 mappings count too, 540 KiB: some of what the above is more than was found,
// and the margin.
constexpr Bytes kLeastMargin = 512 * kKiB;

// While the compiler runs, before the arena is touched: its code, graphs, what the search holds of the largest, and the
// best plan of another microbatch. The most that was found for networks of up to 1,000 nodes.
constexpr Bytes kBasePlanning = 1920 * kKiB;
constexpr Bytes kPlanningPerNode = 19 * kKiB;

Bytes predict_planning(const ReserveFacts& facts) {
  return kBasePlanning + kPlanningPerNode * facts.busiest_node_count + facts.loading_bytes + facts.ladder_bytes;
}

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
  // Rounded up to whole MiB, so that the smallest budget is the same on every run. The compiler has gone when the arena
  // comes: where that is small, it is the compiler that needs the budget, and all such plans need the same.
  const Bytes needed =
      std::max(round_up(sum + margin, kMiB), round_up(predict_planning(facts), kMiB) - facts.arena_bytes);
  reserve.margin = needed - sum;
  return reserve;
}

}  // namespace thimble
