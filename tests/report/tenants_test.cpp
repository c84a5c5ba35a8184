// Who is said to hold a buffer that several values use in turn, and whose gradients count as a parameter's.
#include "report/tenants.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/table.h"

namespace thimble {
namespace {

constexpr std::string_view kText =
    "input x : f32[3,3]\n"
    "parameter w : f32[3,3]\n"
    "a : f32[3,3] = linear(x, w)\n"
    "b : f32[3,3] = relu(a)\n"
    "c : f32[3,3] = flatten(b)\n"
    "d : f32[3,3] = relu(c)\n"
    "gradient g : f32[3,3] = relu(d)\n"
    "gradient h : f32[3,3] = relu(d)\n"
    "parameter next : f32[3,3] = sgd_update(w, g)\n";

// The nodes in order as steps 0 to 6, then b (step 7) and its reader (step 8) again.
struct PlannedPhase {
  Graph graph = parse_graph(std::string(kText), op_table());
  PhasePlan plan;

  PlannedPhase() {
    for (const int n : {0, 1, 2, 3, 4, 5, 6, 1, 3}) plan.steps.push_back({NodeId{n}, n < 4, {}, {}, {}});
  }

  PlannedBuffer buffer(const std::vector<std::string>& names, int first, int last) const {
    PlannedBuffer result{.name = names[0], .place = {}, .first_step = first, .last_step = last, .values = {}};
    for (const std::string& name : names) result.values.push_back(graph.find(name));
    return result;
  }

  // "holder until its last reader"
  std::string at(const PlannedBuffer& held, int step) const {
    const Tenant tenant = Tenants(graph, plan).at(held, step);
    return graph.value(tenant.value).name + " until " + std::to_string(tenant.last_read);
  }
};

TEST(Tenants, TakeTurnsWhereABufferIsOverwrittenInPlace) {
  const PlannedPhase phase;
  const PlannedBuffer buffer = phase.buffer({"a", "b", "c"}, 0, 3);
  EXPECT_EQ(phase.at(buffer, 0), "a until 1");
  EXPECT_EQ(phase.at(buffer, 1), "b until 3") << "its view is read at step 3";
  EXPECT_EQ(phase.at(buffer, 2), "b until 3") << "a view holds nothing of its own";
}

TEST(Tenants, BelongToOneLifeOfTheBuffer) {
  const PlannedPhase phase;
  EXPECT_EQ(phase.at(phase.buffer({"b", "c"}, 1, 3), 3), "b until 3") << "the reader at step 8 reads another instance";
  EXPECT_EQ(phase.at(phase.buffer({"b", "c"}, 7, 8), 7), "b until 8");
  EXPECT_EQ(phase.at(phase.buffer({"d"}, 3, 5), 4), "d until 5");
  EXPECT_EQ(phase.at(phase.buffer({"h"}, 5, 5), 5), "h until -1") << "nothing reads it";
}

TEST(Tenants, AGradientIsAParametersIfAnUpdateReadsIt) {
  const PlannedPhase phase;
  const Tenants tenants(phase.graph, phase.plan);
  EXPECT_TRUE(tenants.is_parameter_gradient(phase.buffer({"d", "g"}, 3, 6)));
  EXPECT_FALSE(tenants.is_parameter_gradient(phase.buffer({"g"}, 4, 5))) << "the update is at step 6";
  EXPECT_FALSE(tenants.is_parameter_gradient(phase.buffer({"h"}, 5, 6)));
  EXPECT_TRUE(tenants.waits_for_update(phase.graph.find("g")));
  EXPECT_FALSE(tenants.waits_for_update(phase.graph.find("h")));
}

}  // namespace
}  // namespace thimble
