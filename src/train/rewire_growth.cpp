#include "train/rewire_growth.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace thimble {
namespace {

constexpr std::uint64_t kTensorDraws = std::uint64_t{1} << 63;  // apart from the draws of positions

class Growth {
 public:
  Growth(std::span<const GrowthPlace> places, std::int64_t total, RandomKey key)
      : places_(places), key_(key), grown_(places.size(), 0), missing_(total) {}

  std::vector<std::int64_t> run() {
    while (missing_ > 0 && share_out()) {
    }
    settle();
    return std::move(grown_);
  }

 private:
  std::int64_t room(std::size_t index) const { return places_[index].room - grown_[index]; }

  // Shares what is missing among the tensors with room. True if one of them became full, so that another round is due.
  bool share_out() {
    double weight = 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (room(i) > 0) weight += static_cast<double>(places_[i].survivors);
    }
    if (weight == 0) return false;
    const auto total = static_cast<double>(missing_);
    bool has_overflow = false;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (room(i) == 0) continue;
      const std::int64_t wanted = std::llround(static_cast<double>(places_[i].survivors) / weight * total);
      const std::int64_t taken = std::min(wanted, room(i));
      has_overflow = has_overflow || taken < wanted;
      grown_[i] += taken;
      missing_ -= taken;
    }
    return has_overflow;
  }

  void settle() {
    for (std::uint64_t draw = 0; missing_ != 0; ++draw) {
      const auto index = static_cast<std::size_t>(random_below(key_, kTensorDraws + draw, places_.size()));
      const std::int64_t change = std::clamp(missing_, -grown_[index], room(index));
      grown_[index] += change;
      missing_ -= change;
    }
  }

  std::span<const GrowthPlace> places_;
  RandomKey key_;
  std::vector<std::int64_t> grown_;
  std::int64_t missing_;
};

}  // namespace

std::vector<std::int64_t> growth_of(std::span<const GrowthPlace> places, std::int64_t total, RandomKey key) {
  std::int64_t room = 0;
  for (const GrowthPlace& place : places) room += place.room;
  ensure(total <= room, "rewire: wants to grow ", total, " positions where ", room, " are free");
  return Growth(places, total, key).run();
}

}  // namespace thimble
