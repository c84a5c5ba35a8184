// A plan in as few bytes as it can be run from, so that many can be held while one runs. What only people and the
// verifier read, names, lifetimes and marks of recomputation, is gone.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/plan.h"

namespace thimble {

inline constexpr Bytes kPackedUnit = 64;  // of offsets; every place of a verified plan is a multiple of it
inline constexpr std::uint32_t kNoWorkspace = 0xFFFFFFFFU;

struct PackedInput {
  ValueId value;
  std::uint32_t unit = 0;
};

struct PackedPhase {
  Phase phase;
  // A step is its node and the units of its inputs, its outputs and its workspace; the node says how many there are.
  // Views compute nothing and are left out.
  std::vector<std::uint32_t> words;
  std::vector<PackedInput> inputs;

  struct Buffer {
    std::int32_t last_step = 0;  // counted as above; -1: before the first
    Place place;
  };
  std::vector<Buffer> buffers;  // test configurations only: transient ones, by last step
};

enum class PackedBuffers : std::uint8_t { left_out, listed };

PackedPhase pack(const Graph& graph, const PhasePlan& plan, PackedBuffers buffers);

struct PackedPlans {
  std::vector<PackedPhase> phases;
  Bytes arena_bytes = 0;

  Bytes held_bytes() const;  // that these plans take themselves
};

}  // namespace thimble
