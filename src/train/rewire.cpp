#include "train/rewire.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "train/bits.h"
#include "train/rewire_growth.h"

namespace thimble {
namespace {

// Parts of one stream of draws that never meet: positions by slot below, single draws above.
constexpr int kSlotShift = 40;
constexpr std::uint64_t kLimitDraws = std::uint64_t{1} << 62;

struct SlotWork {
  std::uint8_t* marks = nullptr;  // first the weights just pruned, then the positions just grown
  std::int64_t pruned = 0;
  std::int64_t grown = 0;
};

class Rewiring {
 public:
  Rewiring(const SparsePools& pools, std::span<std::byte> scratch, const RewireOptions& options)
      : pools_(pools),
        options_(options),
        key_(random_key(options.seed, RandomPurpose::rewire, static_cast<std::uint64_t>(options.iteration))) {
    Bytes wanted = 0;
    for (const SparseSlot& slot : pools.slots) wanted += mask_bytes(slot.element_count());
    ensure(static_cast<Bytes>(scratch.size()) >= wanted, "rewire: wants ", wanted, " bytes of scratch, the arena has ",
           scratch.size(), " to spare");
    std::memset(scratch.data(), 0, static_cast<std::size_t>(wanted));
    auto* marks = reinterpret_cast<std::uint8_t*>(scratch.data());
    for (const SparseSlot& slot : pools.slots) {
      work_.push_back({.marks = marks});
      marks += mask_bytes(slot.element_count());
    }
  }

  RewireResult run() {
    RewireResult result;
    for (std::int64_t slot = 0; slot < pools_.slot_count(); ++slot) mark_pruned(slot);
    result.below_threshold = pruned_count();
    limit_to_free_positions();
    result.moved = pruned_count();
    result.threshold = next_threshold(result.below_threshold);
    if (result.moved == 0) return result;
    for (const TensorView& pool : pools_.all) compact(pool);
    for (std::int64_t slot = 0; slot < pools_.slot_count(); ++slot) remove_pruned(slot);
    plan_growth(result.moved);
    for (std::int64_t slot = 0; slot < pools_.slot_count(); ++slot) draw_grown(slot);
    for (const TensorView& pool : pools_.all) expand(pool);
    for (std::int64_t slot = 0; slot < pools_.slot_count(); ++slot) add_grown(slot);
    write_table();
    return result;
  }

 private:
  const SparseSlot& slot_at(std::int64_t slot) const { return pools_.slots[static_cast<std::size_t>(slot)]; }
  SlotWork& work_at(std::int64_t slot) { return work_[static_cast<std::size_t>(slot)]; }

  std::int64_t pruned_count() const {
    std::int64_t count = 0;
    for (const SlotWork& work : work_) count += work.pruned;
    return count;
  }

  void mark_pruned(std::int64_t index) {
    const SparseSlot& slot = slot_at(index);
    SlotWork& work = work_at(index);
    std::int64_t place = pools_.table[index], largest = -1;
    double most = -1;
    for_each_bit(slot.mask, slot.element_count(), [&](std::int64_t element) {
      const double size = std::abs(load(pools_.parameter, place++));
      if (size > most) {
        most = size;
        largest = element;
      }
      if (!(size < options_.threshold)) return;
      set_bit(work.marks, element);
      ++work.pruned;
    });
    // A tensor without weights would cut the network and, since growth follows what survives, never come back.
    if (work.pruned > 0 && work.pruned == pools_.nonzeros(index)) {
      clear_bit(work.marks, largest);
      --work.pruned;
    }
  }

  // Where hardly any zeros are left, fewer positions are free than weights fell below the threshold. Each tensor then
  // prunes a like share of them, drawn at random.
  void limit_to_free_positions() {
    const std::int64_t pruned = pruned_count(), free = pools_.position_count() - pools_.capacity;
    if (pruned <= free) return;
    for (std::int64_t index = 0; index < pools_.slot_count(); ++index) {
      SlotWork& work = work_at(index);
      const auto share = static_cast<double>(free) / static_cast<double>(pruned);
      const auto wanted = static_cast<std::int64_t>(static_cast<double>(work.pruned) * share);
      Selection selection(key_, kLimitDraws + (static_cast<std::uint64_t>(index) << kSlotShift), work.pruned, wanted);
      for_each_bit(work.marks, slot_at(index).element_count(), [&](std::int64_t element) {
        if (!selection.takes_next()) clear_bit(work.marks, element);
      });
      work.pruned = wanted;
    }
  }

  double next_threshold(std::int64_t below) const {
    const auto found = static_cast<double>(below), target = static_cast<double>(options_.prune_target);
    if (found > (1 + options_.tolerance) * target) return options_.threshold / 2;
    if (found < (1 - options_.tolerance) * target) return options_.threshold * 2;
    return options_.threshold;
  }

  // Surviving elements move to the front of the pool, in order: each to a place at or before its own.
  void compact(const TensorView& pool) const {
    const auto width = static_cast<std::size_t>(bytes_of(pool.dtype));
    auto* data = pool.as<std::byte>();
    std::size_t to = 0, from = 0;
    for (std::int64_t index = 0; index < pools_.slot_count(); ++index) {
      const std::uint8_t* pruned = work_[static_cast<std::size_t>(index)].marks;
      for_each_bit(slot_at(index).mask, slot_at(index).element_count(), [&](std::int64_t element) {
        if (!bit_at(pruned, element)) std::memmove(data + width * to++, data + width * from, width);
        ++from;
      });
    }
  }

  void remove_pruned(std::int64_t index) {
    const SparseSlot& slot = slot_at(index);
    const std::uint8_t* pruned = work_at(index).marks;
    for (std::int64_t byte = 0; byte < mask_bytes(slot.element_count()); ++byte) {
      slot.mask[byte] = static_cast<std::uint8_t>(slot.mask[byte] & ~pruned[byte]);
    }
  }

  void plan_growth(std::int64_t total) {
    std::vector<GrowthPlace> places;
    for (std::int64_t index = 0; index < pools_.slot_count(); ++index) {
      const std::int64_t before = pools_.nonzeros(index);
      places.push_back({.survivors = before - work_at(index).pruned, .room = slot_at(index).element_count() - before});
    }
    const std::vector<std::int64_t> grown = growth_of(places, total, key_);
    for (std::size_t index = 0; index < grown.size(); ++index) work_[index].grown = grown[index];
  }

  // Reads the marks as "just pruned" and leaves them as "just grown", element by element.
  void draw_grown(std::int64_t index) {
    const SparseSlot& slot = slot_at(index);
    SlotWork& work = work_at(index);
    Selection selection(key_, static_cast<std::uint64_t>(index) << kSlotShift,
                        slot.element_count() - pools_.nonzeros(index), work.grown);
    for (std::int64_t element = 0; element < slot.element_count(); ++element) {
      if (bit_at(work.marks, element)) {
        clear_bit(work.marks, element);
      } else if (!bit_at(slot.mask, element) && selection.takes_next()) {
        set_bit(work.marks, element);
      }
    }
    ensure(selection.missing() == 0, "rewire: '", slot.name, "' has ", selection.missing(), " positions too few");
  }

  // From the back: survivors move from the front of the pool to their places, each at or behind its own; zeros between.
  void expand(const TensorView& pool) const {
    const auto width = static_cast<std::size_t>(bytes_of(pool.dtype));
    auto* data = pool.as<std::byte>();
    auto to = static_cast<std::size_t>(pools_.capacity);
    std::size_t from = to - static_cast<std::size_t>(pruned_count());
    for (std::int64_t index = pools_.slot_count() - 1; index >= 0; --index) {
      const SparseSlot& slot = slot_at(index);
      const std::uint8_t* grown = work_[static_cast<std::size_t>(index)].marks;
      for (std::int64_t element = slot.element_count() - 1; element >= 0; --element) {
        if (bit_at(slot.mask, element)) {
          std::memmove(data + width * --to, data + width * --from, width);
        } else if (bit_at(grown, element)) {
          std::memset(data + width * --to, 0, width);
        }
      }
    }
    ensure(to == 0 && from == 0, "rewire: ", to, " elements of a pool were left over");
  }

  void add_grown(std::int64_t index) {
    const SparseSlot& slot = slot_at(index);
    const std::uint8_t* grown = work_at(index).marks;
    for (std::int64_t byte = 0; byte < mask_bytes(slot.element_count()); ++byte) {
      slot.mask[byte] = static_cast<std::uint8_t>(slot.mask[byte] | grown[byte]);
    }
  }

  void write_table() {
    std::int64_t end = 0, old_end = pools_.table[0];
    for (std::int64_t index = 0; index < pools_.slot_count(); ++index) {
      const std::int64_t before = pools_.table[index + 1] - old_end;
      old_end = pools_.table[index + 1];
      end += before - work_at(index).pruned + work_at(index).grown;
      pools_.table[index + 1] = static_cast<std::int32_t>(end);
    }
    ensure(end == pools_.capacity, "rewire: ", end, " weights after rewiring, wanted ", pools_.capacity);
  }

  const SparsePools& pools_;
  const RewireOptions& options_;
  RandomKey key_;
  std::vector<SlotWork> work_;
};

}  // namespace

RewireResult rewire(const SparsePools& pools, std::span<std::byte> scratch, const RewireOptions& options) {
  return Rewiring(pools, scratch, options).run();
}

std::int64_t default_prune_target(std::int64_t position_count) {
  constexpr double kShare = 20'000.0 / 1'451'520.0;
  return std::max<std::int64_t>(std::llround(kShare * static_cast<double>(position_count)), 1);
}

bool rewires_after(std::int64_t done, std::int64_t iterations, std::int64_t period) {
  struct Stretch {
    double until;  // share of the run
    std::int64_t periods;
  };
  constexpr Stretch kStretches[] = {{0.125, 1}, {0.40, 2}, {0.70, 4}, {0.95, 8}};
  const double share = static_cast<double>(done) / static_cast<double>(iterations);
  for (const Stretch& stretch : kStretches) {
    if (share < stretch.until) return done > 0 && done % (stretch.periods * period) == 0;
  }
  return false;
}

}  // namespace thimble
