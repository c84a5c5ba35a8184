#include "memory/place/packing.h"

#include <algorithm>
#include <limits>

namespace thimble {

namespace {

constexpr std::size_t kChunkSlots = 32;  // as many slots as a find reads where lifetimes are mixed

}  // namespace

void Packing::Chunk::summarize() {
  top = slots.front().end;
  widest_gap = 0;
  earliest_first = latest_first = slots.front().first;
  earliest_last = latest_last = slots.front().last;
  for (const Slot& slot : slots) {
    widest_gap = std::max(widest_gap, slot.offset - top);
    top = std::max(top, slot.end);
    earliest_first = std::min(earliest_first, slot.first);
    latest_first = std::max(latest_first, slot.first);
    earliest_last = std::min(earliest_last, slot.last);
    latest_last = std::max(latest_last, slot.last);
  }
}

// Calls found(offset, size) for every gap of at least `bytes` from the bottom up until it says true; returns the top of
// what is alive, above which all is free.
template <typename Found>
Bytes Packing::walk(Bytes bytes, int first, int last, Found found) const {
  Bytes top = 0;
  for (std::size_t index = 0; index < chunk_count_; ++index) {
    const Chunk& chunk = chunks_[index];
    if (chunk.latest_last < first || chunk.earliest_first > last) continue;
    const bool all_alive = chunk.latest_first <= last && chunk.earliest_last >= first;
    if (all_alive && chunk.widest_gap < bytes) {
      const Bytes gap = chunk.slots.front().offset - top;
      if (gap >= bytes && found(top, gap)) return top;
      top = std::max(top, chunk.top);
      continue;
    }
    for (const Slot& slot : chunk.slots) {
      if (slot.first > last || slot.last < first) continue;
      const Bytes gap = slot.offset - top;
      if (gap >= bytes && found(top, gap)) return top;
      top = std::max(top, slot.end);
    }
  }
  return top;
}

Bytes Packing::find(Fit fit, Bytes bytes, int first, int last) const {
  if (fit == Fit::lowest) {
    return walk(bytes, first, last, [](Bytes, Bytes) { return true; });
  }
  Bytes best_gap = std::numeric_limits<Bytes>::max(), best_offset = -1;
  const Bytes top = walk(bytes, first, last, [&](Bytes offset, Bytes gap) {
    if (gap < best_gap) {
      best_gap = gap;
      best_offset = offset;
    }
    return best_gap == bytes;
  });
  return best_offset >= 0 ? best_offset : top;
}

void Packing::insert(const Slot& slot) {
  if (chunk_count_ == 0) {
    if (chunks_.empty()) chunks_.emplace_back();
    chunks_.front().slots.clear();
    chunk_count_ = 1;
  }
  const auto begin = chunks_.begin(), end = begin + static_cast<std::ptrdiff_t>(chunk_count_);
  auto chunk = std::upper_bound(begin + 1, end, slot.offset, [](Bytes offset, const Chunk& candidate) {
    return offset < candidate.slots.front().offset;
  });
  --chunk;
  const auto after = std::upper_bound(chunk->slots.begin(), chunk->slots.end(), slot.offset,
                                      [](Bytes offset, const Slot& other) { return offset < other.offset; });
  chunk->slots.insert(after, slot);
  if (chunk->slots.size() > 2 * kChunkSlots) {
    split(static_cast<std::size_t>(chunk - begin));
  } else {
    chunk->summarize();
  }
}

void Packing::split(std::size_t index) {
  if (chunk_count_ == chunks_.size()) chunks_.emplace_back();
  const auto fresh = chunks_.begin() + static_cast<std::ptrdiff_t>(chunk_count_);
  std::rotate(chunks_.begin() + static_cast<std::ptrdiff_t>(index) + 1, fresh, fresh + 1);
  ++chunk_count_;
  std::vector<Slot>& low = chunks_[index].slots;
  const auto middle = low.begin() + static_cast<std::ptrdiff_t>(kChunkSlots);
  chunks_[index + 1].slots.assign(middle, low.end());
  low.erase(middle, low.end());
  chunks_[index].summarize();
  chunks_[index + 1].summarize();
}

}  // namespace thimble
