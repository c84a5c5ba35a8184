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

// All but what rounding and the compiler add.
Reserve bare_reserve(const ReserveFacts& facts) {
  Reserve reserve;
  reserve.code = kCode + facts.resident_kernel_bytes;
  reserve.libraries = kLibraries;
  reserve.heap = kBaseHeap + kHeapPerStep * facts.step_count + facts.loading_bytes + facts.ladder_bytes;
  reserve.stacks = kStackPerThread * (facts.target.threads + 1 + (facts.has_spill_file ? 1 : 0));
  reserve.tables = round_up(facts.arena_bytes / kPageTableShare, 4096);
  reserve.margin = std::max(kLeastMargin, reserve.total() / 20);
  return reserve;
}

}  // namespace

Bytes predict_planning(const ReserveFacts& facts) {
  return kBasePlanning + kPlanningPerNode * facts.busiest_node_count + facts.loading_bytes + facts.ladder_bytes;
}

Reserve predict_reserve(const ReserveFacts& facts) {
  Reserve reserve = bare_reserve(facts);
  const Bytes bare = reserve.total();
  // The compiler has gone when the arena comes: where that is small, it is the compiler that needs the budget. Rounded
  // up to whole MiB, so that the smallest budget is the same on every run.
  reserve.margin += round_up(std::max(bare, predict_planning(facts) - facts.arena_bytes), kMiB) - bare;
  return reserve;
}

Bytes least_process(const ReserveFacts& facts) {
  return std::max(predict_planning(facts), facts.arena_bytes + round_up(bare_reserve(facts).total(), kMiB));
}

}  // namespace thimble
