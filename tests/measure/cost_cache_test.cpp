#include "measure/cost_cache.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "formats/support.h"

namespace thimble::testing {
namespace {

const CostOrigin kOrigin{"a cpu", "avx512", "0.1.0"};

BenchRow row(const std::string& use, std::int64_t calls, double call_seconds) {
  BenchRow result;
  result.op = result.kernel = "conv2d";
  result.use = use;
  result.calls = calls;
  result.call_seconds = call_seconds;
  result.flops = 100 * static_cast<double>(calls);
  result.bytes = 10 * static_cast<double>(calls);
  return result;
}

TEST(CostCache, TheNameTellsMachinesSetsAndVersionsApart) {
  const std::string name = cost_file_name(kOrigin);
  EXPECT_EQ(name.size(), std::string("costs-0123456789abcdef.json").size());
  EXPECT_EQ(name, cost_file_name(kOrigin));
  for (const CostOrigin& other : {CostOrigin{"b cpu", "avx512", "0.1.0"}, CostOrigin{"a cpu", "avx2", "0.1.0"},
                                  CostOrigin{"a cpu", "avx512", "0.2.0"}}) {
    EXPECT_NE(cost_file_name(other), name);
  }
  EXPECT_EQ(origin_here(Isa::avx2, "1").isa, "avx2");
}

TEST(CostCache, FiguresBecomeCostsOfOneCall) {
  BenchFigures figures;
  figures.kernels = {row("b", 4, 0.5), row("a", 1, 0.25), row("", 3, 1)};
  const CostFile file = with_figures({kOrigin, {}}, figures, 2);
  EXPECT_EQ(file.entries, (std::vector<CostEntry>{{2, "a", 0.25, 100, 10}, {2, "b", 0.5, 100, 10}}));
}

TEST(CostCache, NewFiguresReplaceTheirOwnAndLeaveOthers) {
  BenchFigures figures;
  figures.kernels = {row("a", 1, 9)};
  const CostFile known{kOrigin, {{1, "a", 1, 1, 1}, {2, "a", 2, 1, 1}, {2, "b", 3, 1, 1}}};
  const CostFile file = with_figures(known, figures, 2);
  EXPECT_EQ(file.entries, (std::vector<CostEntry>{{1, "a", 1, 1, 1}, {2, "a", 9, 100, 10}, {2, "b", 3, 1, 1}}));
}

TEST(CostCache, AFullFileGivesUpWhatIsOld) {
  CostFile known{kOrigin, {}};
  for (std::size_t i = 0; i < kMostCosts; ++i) known.entries.push_back({1, std::to_string(100'000 + i), 1, 1, 1});
  BenchFigures figures;
  figures.kernels = {row("new", 1, 9)};
  const CostFile file = with_figures(known, figures, 2);
  EXPECT_EQ(file.entries.size(), kMostCosts);
  EXPECT_EQ(file.entries.back().use, "new");
}

TEST(CostCache, WhatIsPublishedIsFound) {
  const TempFolder folder;
  const std::string path = folder / "cache/thimble/costs.json";
  EXPECT_FALSE(find_costs(path, kOrigin).file.has_value());
  EXPECT_EQ(find_costs(path, kOrigin).fault, "");
  const CostFile file{kOrigin, {{2, "a", 9, 100, 10}}};
  publish_costs(path, file);
  EXPECT_EQ(find_costs(path, kOrigin).file, file);
  EXPECT_EQ(names_in(folder / "cache/thimble"), std::vector<std::string>{"costs.json"});
}

TEST(CostCache, ADamagedOrForeignFileIsAFaultAndNoCrash) {
  const TempFolder folder;
  const std::string path = folder / "costs.json";
  const auto expect_fault = [&](const std::string& said) {
    const FoundCosts found = find_costs(path, kOrigin);
    EXPECT_FALSE(found.file.has_value());
    EXPECT_NE(found.fault.find(said), std::string::npos) << found.fault;
    EXPECT_EQ(found.fault.find('\n'), std::string::npos) << found.fault;
  };
  for (const std::string text : {"", "{", "null", "\xff\xfe", "{\"format\":\"other\"}"}) {
    write_text_file(path, text);
    expect_fault("costs.json");
  }
  publish_costs(path, {{"another cpu", "avx512", "0.1.0"}, {}});
  expect_fault("was measured on 'another cpu'");
  std::filesystem::rename(path, folder / "real.json");
  std::filesystem::create_symlink(folder / "real.json", path);
  expect_fault("costs.json");
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  expect_fault("costs.json");
}

TEST(CostCache, ATableHasTheCostsOfItsThreadsOnly) {
  const CostFile file{kOrigin, {{1, "a", 1, 1, 1}, {2, "a", 2, 1, 1}, {2, "b", 3, 1, 1}}};
  EXPECT_EQ(cost_table(file, 4), nullptr);
  const auto table = cost_table(file, 2);
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->size(), 2U);
  EXPECT_EQ(table->seconds_of("a"), 2);
  EXPECT_EQ(table->seconds_of("c"), std::nullopt);
}

}  // namespace
}  // namespace thimble::testing
