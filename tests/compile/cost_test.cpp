// Measured costs: what the search takes them for, and what they must not decide.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "compile/compile.h"
#include "ops/table.h"
#include "select/use.h"

namespace thimble::testing {
namespace {

CompileRequest timed_request() {
  CompileRequest request;
  request.model = {.name = "wrn10-1-gn", .sample = {16, 16, 3}};
  request.batch = 8;
  request.target = {.isa = detect_isa(), .threads = 1};
  return request;
}

CompileRequest with_costs(CompileRequest request, std::span<const MeasuredCost> costs) {
  request.cost = CostSource::measured;
  request.costs = std::make_shared<const CostTable>(costs);
  return request;
}

Compiled compiled_for(const CompileRequest& request) {
  CompileResult result = compile(request, op_table(), cpu_kernels());
  ensure(result.compiled.has_value(), "test: does not fit");
  return std::move(*result.compiled);
}

template <typename Visit>
void for_each_kernel(const Compiled& compiled, Visit visit) {
  for (const Selected& selected : compiled.phases) {
    for (std::int32_t n = 0; n < selected.graph().node_count(); ++n) {
      const Node& node = selected.graph().node(NodeId{n});
      if (node.op->is_view) continue;
      const Choice& choice = selected.choice(NodeId{n});
      visit(node, choice, use_text(choice, node, selected.graph().types_of(NodeId{n})),
            cost_of(selected.graph(), NodeId{n}, {}, choice.kernel != nullptr ? choice.kernel->pace : 1));
    }
  }
}

TEST(CostTable, TheRatioIsTheMedianOfMeasuredOverPredicted) {
  const CostModel model{.flops_per_second = 10, .bytes_per_second = 10, .seconds_per_step = 0};
  const MeasuredCost costs[] = {{"a", 2, 10, 0}, {"b", 30, 0, 100}, {"c", 100, 10, 0}};
  const CostTable table(costs, model);  // ratios 2, 3 and 100
  EXPECT_DOUBLE_EQ(table.ratio(), 3);
  EXPECT_EQ(table.seconds_of("b"), 30);
  EXPECT_EQ(table.seconds_of("d"), std::nullopt);
  EXPECT_EQ(CostTable({}).ratio(), 1);
}

TEST(MeasuredCosts, AreTakenWhereKnownAndScaledPredictionsElsewhere) {
  std::string known_use;
  double predicted = 0;
  for_each_kernel(compiled_for(timed_request()),
                  [&](const Node& node, const Choice& choice, const std::string& use, auto cost) {
                    if (node.op->name != "conv2d" || choice.kernel->pace != 1 || !known_use.empty()) return;
                    known_use = use;
                    predicted = cost.seconds;
                    EXPECT_GT(cost.flops, 0);
                  });
  ASSERT_NE(known_use, "");
  NodeCost work;
  for_each_kernel(compiled_for(timed_request()), [&](const Node&, const Choice&, const std::string& use, auto cost) {
    if (use == known_use) work = cost;
  });
  const MeasuredCost costs[] = {{known_use, 7 * predicted, work.flops, work.bytes}};
  const Compiled compiled = compiled_for(with_costs(timed_request(), costs));
  std::int64_t measured = 0, missing = 0;
  for_each_kernel(compiled, [&](const Node&, const Choice& choice, const std::string& use, auto cost) {
    EXPECT_EQ(choice.is_measured, use == known_use);
    EXPECT_NEAR(choice.seconds, 7 * cost.seconds, 1e-9 * choice.seconds);
    ++(choice.is_measured ? measured : missing);
  });
  EXPECT_GE(measured, 1);
  EXPECT_EQ(compiled.coverage.measured, measured);
  EXPECT_EQ(compiled.coverage.missing, missing);
  EXPECT_NEAR(compiled.coverage.ratio, 7, 1e-9);
}

// Costs by which a single sample at a time would be fastest by far.
TEST(MeasuredCosts, NeverChooseTheMicrobatch) {
  CompileRequest request = timed_request();
  request.tensor_memory = 1;
  const CompileResult refused = compile(request, op_table(), cpu_kernels());
  request.microbatch = request.batch;
  const Bytes most = compile(request, op_table(), cpu_kernels()).smallest_tensor_bytes;
  request.microbatch.reset();
  for (const Bytes budget : {refused.smallest_tensor_bytes, (refused.smallest_tensor_bytes + most) / 2, 2 * most}) {
    request.tensor_memory = budget;
    const Compiled by_model = compiled_for(request);
    std::vector<std::string> uses;
    CompileRequest single = request;
    single.tensor_memory.reset();
    single.microbatch = 1;
    for_each_kernel(compiled_for(single),
                    [&](const Node&, const Choice&, const std::string& use, auto) { uses.push_back(use); });
    std::vector<MeasuredCost> costs;
    for (const std::string& use : uses) costs.push_back({use, 1e-12, 1, 1});
    costs.resize(costs.size() / 3);  // the rest is predicted
    const Compiled by_time = compiled_for(with_costs(request, costs));
    EXPECT_EQ(by_time.microbatch, by_model.microbatch) << budget;
    EXPECT_LE(by_time.plans.arena_bytes, budget);
    EXPECT_FALSE(by_time.request.microbatch.has_value());
  }
}

TEST(MeasuredCosts, OfTheModelItselfGiveTheModelsPlan) {
  CompileRequest request = timed_request();
  request.microbatch = request.batch;
  std::vector<std::string> uses;
  std::vector<NodeCost> works;
  for_each_kernel(compiled_for(request), [&](const Node&, const Choice&, const std::string& use, auto cost) {
    uses.push_back(use);
    works.push_back(cost);
  });
  std::vector<MeasuredCost> costs;
  for (std::size_t i = 0; i < uses.size(); ++i)
    costs.push_back({uses[i], works[i].seconds, works[i].flops, works[i].bytes});
  request.tensor_memory = compiled_for(request).plans.arena_bytes * 7 / 8;
  const Compiled by_model = compiled_for(request), by_time = compiled_for(with_costs(request, costs));
  EXPECT_EQ(by_time.coverage.missing, 0);
  EXPECT_EQ(by_time.point.arena_bytes, by_model.point.arena_bytes);
  EXPECT_NEAR(by_time.point.seconds, by_model.point.seconds, 1e-9 * by_model.point.seconds);
}

TEST(MeasuredCosts, DoNotGoWithAMicrobatchThatChanges) {
  CompileRequest request = with_costs(timed_request(), {});
  request.allowed = {"microbatch-change"};
  request.changing = true;
  EXPECT_THROW(compile(request, op_table(), cpu_kernels()), UserError);
}

TEST(MeasuredCosts, ServeALadderToo) {
  CompileRequest request = with_costs(timed_request(), {});
  request.changing = true;
  const Compiled by_time = compiled_for(request);
  request.cost = CostSource::model;
  request.costs.reset();
  EXPECT_EQ(by_time.microbatch, compiled_for(request).microbatch);
  EXPECT_FALSE(by_time.ladder.is_empty());
}

TEST(MeasuredCosts, GiveExploreItsTimes) {
  CompileRequest request = timed_request();
  request.microbatch = request.batch;
  const Exploration by_model = explore(request, op_table(), cpu_kernels());
  const CostModel model;
  const MeasuredCost costs[] = {{"unknown", 2 * model.seconds_per_step, 0, 0}};
  const Exploration by_time = explore(with_costs(request, costs), op_table(), cpu_kernels());
  EXPECT_GT(by_time.coverage.missing, 0);
  EXPECT_EQ(by_time.coverage.measured, 0);
  EXPECT_NEAR(by_time.points.front().seconds, 2 * by_model.points.front().seconds, 1e-9);
}

}  // namespace
}  // namespace thimble::testing
