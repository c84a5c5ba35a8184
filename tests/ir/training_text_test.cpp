// Whole training graphs go through text and back: the same text, and the same plan to the byte.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "memory/verify/verify.h"
#include "support/small_run.h"

namespace thimble {
namespace {

using testing::small_request;

struct Case {
  std::string name;
  CompileRequest request;
};

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const char* model : {"lenet-300-100", "wrn10-1", "wrn10-1-gn"}) {
    for (const OptimizerKind kind : {OptimizerKind::momentum, OptimizerKind::adamw}) {
      CompileRequest plain = small_request(model, 4);
      plain.optimizer.kind = kind;
      plain.microbatch = 2;
      plain.test_samples = 3;
      plain.model.dropout = 0.25;
      CompileRequest low = plain, bare = plain, sparse = plain, both = plain, clipped = plain;
      clipped.optimizer.clip_norm = 1;
      clipped.microbatch = kind == OptimizerKind::adamw ? 2 : 4;
      low.precision = bare.precision = both.precision = DType::bf16;
      bare.master = Master::none;
      sparse.sparsity = both.sparsity = 0.8;
      const std::string name = std::string(model) + " " + std::string(name_of(kind));
      result.push_back({name, plain});
      result.push_back({name + " bf16", low});
      result.push_back({name + " bf16 without master", bare});
      result.push_back({name + " sparse", sparse});
      result.push_back({name + " sparse bf16", both});
      result.push_back({name + " clipped", clipped});
    }
  }
  return result;
}

// Steps by what they make and where everything lies: what a plan says, without the ids of one graph.
std::string plan_text(const Selected& selected) {
  const Scheduler scheduler(selected);
  const PhaseSchedule schedule = scheduler.make(scheduler.keep_all());
  const ScheduledPhase scheduled{&selected, &schedule};
  const PlanSet plans = make_plan_set({&scheduled, 1}, {});
  std::vector<Bytes> workspaces;
  for (const Choice& choice : selected.choices) workspaces.push_back(choice.workspace);
  const PhaseToVerify phase{&selected.training, workspaces};
  verify_plan({&phase, 1}, plans);
  std::string text = join_text("arena ", plans.arena_bytes, "\n");
  const auto add = [&](const Place& place) { text += join_text(" ", place.offset, "+", place.bytes); };
  for (const PlannedStep& step : plans.phases[0].steps) {
    const Node& node = selected.graph().node(step.node);
    text += selected.graph().value(node.outputs[0]).name;
    for (const Place& place : step.in) add(place);
    text += " ->";
    for (const Place& place : step.out) add(place);
    add(step.workspace);
    text += "\n";
  }
  for (const PersistentPlace& persistent : plans.persistents) {
    text += persistent.name;
    add(persistent.place);
    text += "\n";
  }
  return text;
}

TEST(TrainingText, ReadsBackAsTheSameTextAndTheSamePlan) {
  int phases = 0;
  for (const Case& c : cases()) {
    const CompileResult result = compile(c.request, op_table(), cpu_kernels());
    ASSERT_TRUE(result.compiled.has_value());
    for (const Selected& selected : result.compiled->phases) {
      const std::string text = to_text(selected.graph());
      Training again{selected.training.phase, parse_graph(text, op_table())};
      verify(again.graph);
      ASSERT_EQ(to_text(again.graph), text) << c.name << ", " << name_of(again.phase);
      ASSERT_EQ(again.graph.value_count(), selected.graph().value_count());
      const Selected reselected = select_kernels(std::move(again), cpu_kernels(),
                                                 {.target = selected.target, .use_references = false, .cost = {}});
      ASSERT_EQ(plan_text(reselected), plan_text(selected)) << c.name << ", " << name_of(selected.training.phase);
      ++phases;
    }
  }
  EXPECT_GE(phases, 30 * 3);
}

// Seeds that the parser refuses would teach a fuzzer little.
TEST(TrainingText, SeedsOfTheFuzzTargetAreGraphs) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("fuzz/corpus/graph_text")) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    EXPECT_GT(parse_graph(text, op_table()).node_count(), 0) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 2);
}

}  // namespace
}  // namespace thimble
