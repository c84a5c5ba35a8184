// Plans small enough to be written down by hand, for tests that spoil them in one known way.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "memory/verify/verify.h"
#include "ops/table.h"

namespace thimble::testing {

constexpr Bytes kBlock = 64;  // every tensor below is one block, or less

struct SmallPlan {
  Training training;
  std::vector<Bytes> workspace;
  PlanSet set;

  PhasePlan& phase() { return set.phases[0]; }
  PlannedStep& step(std::size_t s) { return phase().steps[s]; }
  std::optional<std::string> fault() const {
    const PhaseToVerify phases[] = {{&training, workspace}};
    return find_fault(phases, set);
  }
};

inline void expect_refused(const SmallPlan& plan, std::string_view wanted) {
  const std::optional<std::string> fault = plan.fault();
  ASSERT_TRUE(fault.has_value()) << "accepted; wanted: " << wanted;
  EXPECT_NE(fault->find(wanted), std::string::npos) << "found:  " << *fault << "\nwanted: " << wanted;
}

inline Place block(Bytes index, Bytes bytes = kBlock) { return {index * kBlock, bytes}; }

// Two layers of one parameter's training: forward, a view there and back, dropout that is dropped and made again, a sum
// for the host, a gradient with workspace, a momentum update.
//
//   block  0 weight   1 momentum   2 total   |   3 images   4 y, then a in place   5 d, then g   6 d again   7
//   workspace
inline SmallPlan dense_plan() {
  Graph g(op_table());
  const Type square{DType::f32, {4, 4}};
  const ValueId images = g.add_source("images", square, Role::input);
  const ValueId weight = g.add_source("weight", square, Role::parameter);
  const ValueId momentum = g.add_source("momentum", square, Role::optimizer);
  const ValueId y = g.apply("linear", {images, weight}, {}, "y");
  const ValueId a = g.apply("relu", {y}, {}, "a");
  const ValueId flat = g.apply("reshape", {a}, {{"shape", std::string("16")}}, "flat");
  const ValueId back = g.apply("reshape", {flat}, {{"shape", std::string("4,4")}}, "back");
  const ValueId d = g.apply("dropout", {back}, {{"p", 0.5}, {"key", std::int64_t{3}}}, "d");
  g.apply("channel_sum", {d}, {}, "total", Role::metric);
  const ValueId gradient = g.apply("matmul", {images, d}, {{"transpose_a", std::int64_t{1}}}, "g", Role::gradient);
  g.add_node("momentum_update", {weight, momentum, gradient}, {{"momentum", 0.9}}, "next", Role::parameter);

  SmallPlan plan{{{.samples = 4}, std::move(g)}, {0, 0, 0, 0, 0, 0, 40, 0}, {}};
  plan.set.persistents = {{"weight", Role::parameter, square, block(0)},
                          {"momentum", Role::optimizer, square, block(1)},
                          {"total", Role::metric, {DType::f32, {4}}, block(2, 16)}};
  plan.set.persistent_bytes = 3 * kBlock;
  plan.set.arena_bytes = 8 * kBlock;
  PhasePlan phase{.phase = plan.training.phase, .steps = {}, .buffers = {}, .inputs = {{images, block(3)}}};
  phase.steps = {{NodeId{0}, false, {block(3), block(0)}, {block(4)}, {}},
                 {NodeId{1}, false, {block(4)}, {block(4)}, {}},
                 {NodeId{2}, false, {block(4)}, {block(4)}, {}},
                 {NodeId{3}, false, {block(4)}, {block(4)}, {}},
                 {NodeId{4}, false, {block(4)}, {block(5)}, {}},
                 {NodeId{5}, false, {block(5)}, {block(2, 16)}, {}},
                 {NodeId{4}, true, {block(4)}, {block(6)}, {}},
                 {NodeId{6}, false, {block(3), block(6)}, {block(5)}, block(7, 40)},
                 {NodeId{7}, false, {block(0), block(1), block(5)}, {block(0), block(1)}, {}}};
  const auto buffer = [&](std::string name, const Place& place, int first, int last) {
    phase.buffers.push_back({.name = name,
                             .is_workspace = name == "workspace",
                             .place = place,
                             .first_step = first,
                             .last_step = last,
                             .values = {}});
  };
  buffer("images", block(3), 0, 7);
  buffer("y", block(4), 0, 6);
  buffer("d", block(5), 4, 5);
  buffer("d", block(6), 6, 7);
  buffer("g", block(5), 7, 8);
  buffer("workspace", block(7, 40), 7, 7);
  phase.transient_bytes = 5 * kBlock;
  plan.set.phases.push_back(std::move(phase));
  return plan;
}

// Two sparse layers whose values share one pool; the first layer is made dense again after the second one's update.
//
//   block  0 pool   1, 2 masks   3 table   |   4 images   5.. every transient in a block of its own, in order of the
//   steps
inline SmallPlan pooled_plan() {
  Graph g(op_table());
  const Type square{DType::f32, {4, 4}}, pool{DType::f32, {16}, Layout::pooled}, mask{DType::u8, {2}},
      table{DType::i32, {3}};
  const ValueId images = g.add_source("images", square, Role::input);
  std::vector<ValueId> values, masks, dense;
  for (int slot = 0; slot < 2; ++slot) {
    values.push_back(g.add_source("p" + std::to_string(slot), pool, Role::parameter));
    g.value(values.back()).pool = "parameter";
    g.value(values.back()).slot = slot;
    masks.push_back(g.add_source("mask/p" + std::to_string(slot), mask, Role::structure));
  }
  const ValueId ends = g.add_source("sparse/table", table, Role::structure);
  const auto slot_word = [](std::int64_t slot) { return std::pair<std::string, AttributeValue>("slot", slot); };
  for (std::size_t k = 0; k < 2; ++k) {
    dense.push_back(g.apply("sparse_to_dense", {values[k], masks[k], ends},
                            {slot_word(static_cast<std::int64_t>(k)), {"shape", std::string("4,4")}},
                            "dense" + std::to_string(k)));
  }
  const ValueId h = g.apply("linear", {images, dense[0]}, {}, "h");
  const ValueId o = g.apply("linear", {h, dense[1]}, {}, "o");
  const ValueId g1 = g.apply("matmul", {h, o}, {{"transpose_a", std::int64_t{1}}}, "g1", Role::gradient);
  const ValueId dh = g.apply("matmul", {o, dense[1]}, {{"transpose_b", std::int64_t{1}}}, "dh", Role::gradient);
  const ValueId g0 = g.apply("matmul", {images, dh}, {{"transpose_a", std::int64_t{1}}}, "g0", Role::gradient);
  for (const std::size_t k : {std::size_t{1}, std::size_t{0}}) {
    const NodeId update = g.add_node("sparse_update", {values[k], masks[k], ends, k == 1 ? g1 : g0},
                                     {slot_word(static_cast<std::int64_t>(k)), {"rule", std::string("sgd")}},
                                     "next/p" + std::to_string(k), Role::parameter);
    Value& output = g.value(g.node(update).outputs[0]);
    output.pool = "parameter";
    output.slot = static_cast<int>(k);
  }

  SmallPlan plan{{{.samples = 4}, std::move(g)}, std::vector<Bytes>(9, 0), {}};
  plan.set.persistents = {{"pool/parameter", Role::parameter, pool, block(0)},
                          {"mask/p0", Role::structure, mask, block(1, 2)},
                          {"mask/p1", Role::structure, mask, block(2, 2)},
                          {"sparse/table", Role::structure, table, block(3, 12)}};
  plan.set.persistent_bytes = 4 * kBlock;
  plan.set.arena_bytes = 13 * kBlock;
  PhasePlan phase{.phase = plan.training.phase, .steps = {}, .buffers = {}, .inputs = {{images, block(4)}}};
  phase.steps = {{NodeId{0}, false, {block(0), block(1, 2), block(3, 12)}, {block(5)}, {}},
                 {NodeId{2}, false, {block(4), block(5)}, {block(6)}, {}},
                 {NodeId{1}, false, {block(0), block(2, 2), block(3, 12)}, {block(7)}, {}},
                 {NodeId{3}, false, {block(6), block(7)}, {block(8)}, {}},
                 {NodeId{4}, false, {block(6), block(8)}, {block(9)}, {}},
                 {NodeId{5}, false, {block(8), block(7)}, {block(10)}, {}},
                 {NodeId{7}, false, {block(0), block(2, 2), block(3, 12), block(9)}, {block(0)}, {}},
                 {NodeId{0}, true, {block(0), block(1, 2), block(3, 12)}, {block(11)}, {}},
                 {NodeId{6}, false, {block(4), block(10)}, {block(12)}, {}},
                 {NodeId{8}, false, {block(0), block(1, 2), block(3, 12), block(12)}, {block(0)}, {}}};
  for (Bytes b = 4; b < 13; ++b) {
    phase.buffers.push_back(
        {.name = "b" + std::to_string(b), .place = block(b), .first_step = 0, .last_step = 9, .values = {}});
  }
  phase.transient_bytes = 9 * kBlock;
  plan.set.phases.push_back(std::move(phase));
  return plan;
}

}  // namespace thimble::testing
