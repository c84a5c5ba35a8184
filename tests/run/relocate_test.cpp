// What persists moves between the places of two plans and loses no byte, whatever is in the way.
#include "run/relocate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "run/arena.h"

namespace thimble {
namespace {

constexpr Bytes kStaging = 2 * kSpillBlock;
constexpr Bytes kUnit = 64;
constexpr std::uint64_t kValues = 12;

std::uint64_t draw(std::uint64_t layout, std::uint64_t number, std::uint64_t below) {
  return random_below(random_key(3, RandomPurpose::test, layout), number, below);
}

Bytes bytes_of(std::uint64_t value) { return 1 + static_cast<Bytes>(draw(0, value, 9000)); }

// In the spill file every value has one place.
Bytes spill_offset(std::uint64_t value) {
  Bytes offset = 0;
  for (std::uint64_t v = 0; v < value; ++v) offset += round_up(bytes_of(v), kSpillBlock);
  return offset;
}

std::byte content(std::uint64_t value, Bytes index) {
  return static_cast<std::byte>(draw(1000 + value, static_cast<std::uint64_t>(index), 256));
}

class Relocate : public ::testing::Test {
 protected:
  Relocate()
      : arena_(kStaging + 4 * static_cast<Bytes>(kValues) * 9000),
        file_(::testing::TempDir(), spill_offset(kValues), {arena_.data(), static_cast<std::size_t>(kStaging)}) {}

  // Some values in the file, the others in the arena in order, with gaps.
  std::vector<Residence> draw_layout(std::uint64_t layout) const {
    std::vector<Residence> places;
    Bytes end = kStaging;
    for (std::uint64_t v = 0; v < kValues; ++v) {
      if (draw(layout, 2 * v, 3) == 0) {
        places.push_back({nullptr, spill_offset(v)});
        continue;
      }
      end += kUnit * static_cast<Bytes>(draw(layout, 2 * v + 1, 80));
      places.push_back({arena_.data() + end, -1});
      end += round_up(bytes_of(v), kUnit);
    }
    return places;
  }

  static std::vector<Relocation> between(const std::vector<Residence>& from, const std::vector<Residence>& to) {
    std::vector<Relocation> moves;
    for (std::uint64_t v = 0; v < kValues; ++v) moves.push_back({from[v], to[v], bytes_of(v)});
    return moves;
  }

  void fill(const std::vector<Residence>& places) {
    for (std::uint64_t v = 0; v < kValues; ++v) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_of(v)));
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = content(v, static_cast<Bytes>(i));
      if (places[v].arena != nullptr) {
        std::copy(bytes.begin(), bytes.end(), places[v].arena);
      } else {
        ASSERT_EQ(file_.write(places[v].spill_offset, bytes), Status::good);
      }
    }
  }

  bool holds(const Residence& place, std::uint64_t value) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_of(value)));
    if (place.arena != nullptr) {
      std::copy(place.arena, place.arena + bytes.size(), bytes.begin());
    } else if (file_.read(place.spill_offset, bytes) != Status::good) {
      return false;
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] != content(value, static_cast<Bytes>(i))) return false;
    }
    return true;
  }

  Arena arena_;
  SpillFile file_;
};

TEST_F(Relocate, LosesNothingOverAHundredRandomLayouts) {
  std::vector<Residence> places = draw_layout(1);
  fill(places);
  for (std::uint64_t layout = 2; layout < 102; ++layout) {
    const std::vector<Residence> next = draw_layout(layout);
    relocate(between(places, next), &file_);
    places = next;
    for (std::uint64_t v = 0; v < kValues; ++v) ASSERT_TRUE(holds(places[v], v)) << "layout " << layout << ", " << v;
  }
}

TEST_F(Relocate, RefusesValuesThatChangeTheirOrder) {
  const Residence low{arena_.data() + kStaging, -1}, high{arena_.data() + kStaging + 4096, -1};
  const std::vector<Relocation> crossing = {{low, high, 64}, {high, low, 64}};
  EXPECT_THROW(relocate(crossing, &file_), InternalError);
}

TEST_F(Relocate, RefusesAnotherPlaceInTheFile) {
  const std::vector<Relocation> moves = {{{nullptr, 0}, {nullptr, kSpillBlock}, 64}};
  EXPECT_THROW(relocate(moves, &file_), InternalError);
}

TEST_F(Relocate, WantsAFileOnlyForWhatGoesThere) {
  const Residence low{arena_.data() + kStaging, -1}, high{arena_.data() + kStaging + 32, -1};
  const std::vector<Relocation> within = {{low, high, 64}}, out = {{low, {nullptr, 0}, 64}};
  *low.arena = std::byte{7};
  relocate(within, nullptr);
  EXPECT_EQ(*high.arena, std::byte{7});
  EXPECT_THROW(relocate(out, nullptr), InternalError);
}

}  // namespace
}  // namespace thimble
