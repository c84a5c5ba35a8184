// Plans of real networks as the compiler makes them, with random choices of what to keep, where to share and how much
// workspace to pretend.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "grad/optimizer.h"
#include "memory/verify/verify.h"

namespace thimble::testing {

// Numbers drawn one after the other.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : key_(random_key(seed, RandomPurpose::test, 0)) {}

  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_below(key_, counter_++, static_cast<std::uint64_t>(bound)));
  }
  std::size_t index(std::size_t count) { return static_cast<std::size_t>(below(static_cast<std::int64_t>(count))); }
  bool hits(double chance) { return static_cast<double>(random_uniform(key_, counter_++)) < chance; }

 private:
  RandomKey key_;
  std::uint64_t counter_ = 0;
};

enum class NetworkKind : std::uint8_t { residual_batch_norm, residual_group_norm, perceptron, named };
enum class Division : std::uint8_t { whole_and_evaluation, three_microbatches };

struct PlanSpec {
  NetworkKind network = NetworkKind::perceptron;
  std::string model;  // of NetworkKind::named
  Division division = Division::whole_and_evaluation;
  OptimizerKind optimizer = OptimizerKind::momentum;
  bool fused = false;   // passes that fuse activations and split norms
  bool sparse = false;  // parameters in pools
  bool bf16 = false;    // no f32 master: random rounding of parameters
  bool clips = false;   // updates wait for the norm of all gradients
  bool spills = false;  // some persistents and activations wait in a spill file
  std::uint64_t seed = 0;
};

std::string describe(const PlanSpec& spec);

// What is planned, the plan, and the bytes that persistent values start from.
struct RealPlan {
  std::vector<Training> trainings;  // by phase, in the order in which one iteration runs them
  std::vector<std::vector<Bytes>> workspaces;
  PlanSet set;
  std::vector<std::vector<std::byte>> initial;  // by persistent place
};

RealPlan make_real_plan(const PlanSpec& spec);

// The verifier's word on a plan of these phases.
std::optional<std::string> fault_of(const std::vector<Training>& trainings,
                                    const std::vector<std::vector<Bytes>>& workspaces, const PlanSet& set);

}  // namespace thimble::testing
