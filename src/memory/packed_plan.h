// A plan in as few bytes as it can be run from, so that many can be held while one runs. What only people and the
// verifier read, names, lifetimes and marks of recomputation, is gone.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/plan.h"

namespace thimble {

inline constexpr Bytes kPackedUnit = 64;  // of offsets; every place of a verified plan is a multiple of it
inline constexpr std::uint32_t kNoWorkspace = 0xFFFFFFFFU;

// The first word of a step that moves bytes: which of the phase's transfers it starts or waits for. No node has such an
// index.
inline constexpr std::uint32_t kStartsTransfer = 0x80000000U;
inline constexpr std::uint32_t kWaitsForTransfer = 0xC0000000U;
inline constexpr std::uint32_t kTransferIndex = 0x3FFFFFFFU;  // the bits of the index

constexpr bool is_transfer(std::uint32_t word) { return (word & kStartsTransfer) != 0; }
constexpr bool is_wait(std::uint32_t word) { return (word & kWaitsForTransfer) == kWaitsForTransfer; }

struct PackedTransfer {
  Bytes bytes = 0;
  std::uint32_t unit = 0;   // of the arena
  std::uint32_t block = 0;  // of the spill file
  Direction direction = Direction::load;
};

struct PackedInput {
  ValueId value;
  std::uint32_t unit = 0;
};

struct PackedPhase {
  Phase phase;
  // A step is its node and the units of its inputs, its outputs and its workspace; the node says how many there are.
  // Views compute nothing and are left out. A step that moves bytes is one word.
  std::vector<std::uint32_t> words;
  std::vector<PackedTransfer> transfers = {};  // in the order of their starts
  std::vector<PackedInput> inputs;

  struct Buffer {
    std::int32_t last_step = 0;  // counted as above; -1: before the first
    Place place;
  };
  std::vector<Buffer> buffers;  // test configurations only: transient ones, by last step
};

enum class PackedBuffers : std::uint8_t { left_out, listed };

PackedPhase pack(const Graph& graph, const PhasePlan& plan, PackedBuffers buffers);

struct PackedPlace {
  std::uint32_t unit = 0;  // in the spill file: the block
  Space space = Space::arena;

  Bytes offset() const { return Bytes{unit} * (space == Space::arena ? kPackedUnit : kSpillBlock); }
};

struct PackedPlans {
  std::vector<PackedPhase> phases;
  std::vector<PackedPlace> persistents;  // in the order of the plan's
  Bytes persistent_bytes = 0;            // of the arena
  Bytes arena_bytes = 0;
  Bytes spill_bytes = 0;  // of the spill file; 0: there is none

  Bytes held_bytes() const;  // that these plans take themselves
};

// All but the phases.
PackedPlans pack_frame(const PlanSet& set);

}  // namespace thimble
