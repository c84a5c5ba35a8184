#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ops/table.h"
#include "report/front_report.h"
#include "report/plan_report.h"
#include "report/progress.h"
#include "report/table.h"
#include "report/train_log.h"

namespace thimble {
namespace {

// What `print` writes.
template <typename Print>
std::string written(Print&& print) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  print(out);
  std::fclose(out);
  std::string result(text, size);
  std::free(text);
  return result;
}

TEST(JsonWriter, WritesValidJsonWithoutHoldingIt) {
  const std::string text = written([](std::FILE* out) {
    JsonWriter json(out);
    json.begin_object();
    json.text("name", "a \"b\" \n");
    json.number("half", 0.5);
    json.number("none", NAN);
    json.begin_array("list");
    json.integer({}, 1);
    json.begin_object();
    json.end_object();
    json.boolean({}, true);
    json.end_array();
    json.null("last");
    json.end_object();
  });
  EXPECT_EQ(text, "{\"name\":\"a \\\"b\\\" \\n\",\"half\":0.5,\"none\":null,\"list\":[1,{},true],\"last\":null}\n");
}

TEST(Table, AmountsStandRightAndWordsLeft) {
  Table table;
  table.add({"one", "1.0 MiB", "note"});
  table.add({"eleven", "11.0 MiB", ""});
  EXPECT_EQ(written([&](std::FILE* out) { table.print(out); }), "  one      1.0 MiB  note\n  eleven  11.0 MiB\n");
}

TEST(Table, DurationsReadWell) {
  EXPECT_EQ(to_duration(0.035), "35 ms");
  EXPECT_EQ(to_duration(12), "12.0 s");
  EXPECT_EQ(to_duration(185), "3m05s");
  EXPECT_EQ(to_duration(8040), "2h14m");
}

CompileRequest small_request(const std::string& model, std::int64_t microbatch) {
  CompileRequest request;
  request.model = {.name = model, .sample = default_sample(model)};
  request.batch = 8;
  request.microbatch = microbatch;
  request.optimizer.kind = OptimizerKind::nesterov;
  return request;
}

TEST(PlanFigures, CategoriesAtThePeakSumToTheArenaForEveryKindOfPlan) {
  for (const std::int64_t microbatch : {8, 3}) {
    CompileRequest request = small_request("wrn10-1-gn", microbatch);
    for (const DType precision : {DType::f32, DType::bf16}) {
      request.precision = precision;
      const Compiled compiled = std::move(*compile(request, op_table(), cpu_kernels()).compiled);
      const Categories categories = figures_of(compiled).categories;
      EXPECT_EQ(categories.sum(), compiled.plans.arena_bytes);
      EXPECT_GE(categories.slack, 0);
      EXPECT_LT(categories.slack, compiled.plans.arena_bytes / 10);
      EXPECT_GT(categories.optimizer, 0);
      Bytes alive = compiled.plans.persistent_bytes;
      for (const AliveTensor& tensor : alive_at_peak(compiled)) alive += tensor.bytes;
      EXPECT_LE(alive, compiled.plans.arena_bytes);
    }
  }
}

TEST(PlanFigures, WhatIsAliveWaitsForAStepThatReadsIt) {
  const Compiled compiled = std::move(*compile(small_request("lenet-300-100", 8), op_table(), cpu_kernels()).compiled);
  const std::vector<AliveTensor> tensors = alive_at_peak(compiled);
  ASSERT_FALSE(tensors.empty());
  // The samples, which the first layer's gradient is made of on its way into the weights.
  EXPECT_EQ(tensors.front().category, "input");
  EXPECT_NE(tensors.front().waits_for.find("linear_update_weight 'next/fc1.weight'"), std::string::npos)
      << tensors.front().waits_for;
}

IterationFacts facts_at(std::int64_t iteration) {
  return {.iteration = iteration,
          .iterations = 40,
          .epoch = static_cast<double>(iteration) / 20,
          .loss = 2,
          .accuracy = 0.5,
          .learning_rate = 0.1,
          .samples_per_second = 1000,
          .resident_bytes = 31 * kMiB};
}

TEST(Progress, PlainLinesComeAtTheStartAtEpochsAndAtTheEnd) {
  const std::string text = written([](std::FILE* out) {
    Progress progress({.kind = ProgressStyle::Kind::plain, .out = out}, 32 * kMiB);
    for (std::int64_t iteration = 1; iteration <= 40; ++iteration) progress.show(facts_at(iteration));
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_NE(
      text.find(
          "epoch 1.00  iteration 20/40  loss 2.0000  accuracy 50.0 %  lr 0.1  1000 samples/s  31.0 of 32.0 MiB  ETA"),
      std::string::npos)
      << text;
}

TEST(Progress, ABarIsOneLineThatFitsTheTerminal) {
  const std::string text = written([](std::FILE* out) {
    Progress progress({.kind = ProgressStyle::Kind::bar, .out = out}, 32 * kMiB);
    progress.show(facts_at(1));
    progress.say("saved");
    progress.show(facts_at(40));
    progress.finish();
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  const std::size_t bar = text.rfind("\033[K") + 3;
  EXPECT_LE(text.size() - bar, 80U);
}

TEST(TrainLog, EveryBudgetHasARowWithItsPromiseAndItsMeasurement) {
  TrainResult result;
  result.segments = {
      {.iteration = 1, .microbatch = 8, .promised_bytes = 20 * kMiB, .peak_bytes = 18 * kMiB},
      {.iteration = 4,
       .budget = 15 * kMiB,
       .microbatch = 8,
       .promised_bytes = 14 * kMiB,
       .delay_microbatches = 1,
       .delay_seconds = 0.25,
       .peak_bytes = 13 * kMiB},
      {.iteration = 9,
       .budget = 12 * kMiB,
       .microbatch = 4,
       .promised_bytes = 11 * kMiB,
       .delay_microbatches = 2,
       .delay_seconds = 0.5,
       .peak_bytes = 13 * kMiB},
      {.iteration = 12, .budget = 12 * kMiB, .microbatch = 4, .promised_bytes = 12 * kMiB, .delay_microbatches = 1}};
  const std::string text = written([&](std::FILE* out) {
    TrainLog log({}, {}, {.kind = ProgressStyle::Kind::plain, .out = out});
    log.on_compiled(*compile(small_request("lenet-300-100", 8), op_table(), cpu_kernels()).compiled);
    log.on_budget(result.segments[0], result.segments[1]);
    log.print_closing(result);
  });
  EXPECT_NE(text.find("none -> 15.0 MiB in iteration 4"), std::string::npos) << text;
  EXPECT_NE(text.find("1 microbatch, 0.250 s; before at most 18.0 MiB resident"), std::string::npos) << text;
  for (const char* row :
       {"15.0 MiB  14.0 MiB  13.0 MiB  held ", "12.0 MiB  11.0 MiB  13.0 MiB  EXCEEDED", "12.0 MiB  12.0 MiB  - "})
    EXPECT_NE(text.find(row), std::string::npos) << row << " in\n" << text;
  const auto json = nlohmann::json::parse(written([&](std::FILE* out) {
    JsonWriter writer(out);
    write_train_json(writer, {}, result);
  }));
  ASSERT_EQ(json.at("segments").size(), 4U);
  EXPECT_TRUE(json.at("segments")[0].at("budget_bytes").is_null());
  EXPECT_EQ(json.at("segments")[2].at("peak_rss_bytes"), 13 * kMiB);
  EXPECT_EQ(json.at("segments")[2].at("delay_microbatches"), 2);
}

TEST(Front, EveryPointNamesTheBudgetItNeeds) {
  const PointSummary points[] = {
      {.microbatch = 8, .arena_bytes = 4 * kMiB, .process_bytes = 12 * kMiB, .seconds = 1, .strategy = "keep all"},
      {.microbatch = 8, .arena_bytes = 2 * kMiB, .process_bytes = 10 * kMiB, .seconds = 2, .strategy = "search"}};
  const FrontReport report{points, "thimble train x", 11 * kMiB};
  const auto front = nlohmann::json::parse(written([&](std::FILE* out) {
                       JsonWriter json(out);
                       write_front(json, report);
                     })).at("points");
  EXPECT_EQ(front.at(1).at("command"), "thimble train x --memory 10485760B");
  EXPECT_EQ(front.at(1).at("time_ratio"), 2);
  EXPECT_EQ(front.at(1).at("arena_ratio"), 0.5);
  EXPECT_FALSE(front.at(0).at("fits").get<bool>());
  EXPECT_TRUE(front.at(1).at("fits").get<bool>());
}

}  // namespace
}  // namespace thimble
