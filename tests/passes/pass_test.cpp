// Every tests/passes/*.graph is one statement about one pass: its name, a graph, and what the graph becomes.
#include <gtest/gtest.h>

#include <algorithm>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "ops/table.h"
#include "passes/passes.h"

namespace thimble {
namespace {

struct Case {
  std::string file;
  std::string pass;
  PassContext context;
  std::string before;
  std::string after;  // "unchanged" where the pass should find nothing to do
};

// Lines "# pass: NAME", "# precision: bf16", "# master: none", "# sparsity: 0.5 NAME..." set the scene; "---" parts
// before from after.
Case read_case(const std::filesystem::path& path) {
  Case result{.file = path.filename().string(), .pass = {}, .context = {}, .before = {}, .after = {}};
  std::ifstream file(path);
  std::string line;
  bool is_after = false;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string hash, key, word;
    words >> hash >> key;
    if (hash == "#" && key == "pass:") {
      words >> result.pass;
    } else if (hash == "#" && key == "precision:") {
      result.context.precision = DType::bf16;
    } else if (hash == "#" && key == "master:") {
      result.context.master = Master::none;
    } else if (hash == "#" && key == "sparsity:") {
      words >> result.context.sparsity;
      while (words >> word) result.context.sparse_tensors.push_back(word);
    } else if (line == "---") {
      is_after = true;
    } else if (hash != "#") {
      (is_after ? result.after : result.before) += line + "\n";
    }
  }
  return result;
}

const Pass& find_pass(const std::string& name) {
  static const Pass* const kAll[] = {
      &passes::kSimplify,          &passes::kFuseNormActivation, &passes::kFuseConvActivation,
      &passes::kFuseAddActivation, &passes::kBf16Storage,        &passes::kSparseParameters,
      &passes::kSplitNorms,        &passes::kFlattenConcats,     &passes::kFuseAccumulate,
      &passes::kFuseSum,           &passes::kFuseNormalize,      &passes::kFuseMoments,
      &passes::kFuseUpdate,        &passes::kRemoveDeadNodes};
  for (const Pass* pass : kAll) {
    if (pass->name == name) return *pass;
  }
  fail_user("no pass '" + name + "'");
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& entry : std::filesystem::directory_iterator("tests/passes")) {
    if (entry.path().extension() == ".graph") cases.push_back(read_case(entry.path()));
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.file < b.file; });
  return cases;
}

TEST(Passes, EveryGraphBecomesWhatItsFileSays) {
  const std::vector<Case> cases = all_cases();
  ASSERT_GE(cases.size(), 8U);
  for (const Case& test : cases) {
    SCOPED_TRACE(test.file);
    Graph graph = parse_graph(test.before, op_table());
    const bool changed = find_pass(test.pass).run(graph, test.context);
    verify(graph);
    if (test.after == "unchanged\n") {
      EXPECT_FALSE(changed);
      EXPECT_EQ(to_text(graph), to_text(parse_graph(test.before, op_table())));
    } else {
      EXPECT_TRUE(changed);
      EXPECT_EQ(to_text(graph), test.after);
    }
  }
}

TEST(Passes, ASecondRunFindsNothingToDo) {
  for (const Case& test : all_cases()) {
    if (test.pass == "bf16_storage" || test.pass == "sparse_parameters") continue;  // these are asked for, once
    SCOPED_TRACE(test.file);
    Graph graph = parse_graph(test.before, op_table());
    find_pass(test.pass).run(graph, test.context);
    EXPECT_FALSE(find_pass(test.pass).run(graph, test.context));
  }
}

TEST(Passes, ASkippedPassLeavesTheGraphAlone) {
  const Case test = all_cases().front();
  Graph graph = parse_graph(test.before, op_table());
  const Pass passes[] = {find_pass(test.pass)};
  const auto reports = run_passes(graph, passes, test.context, {test.pass});
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_TRUE(reports[0].skipped);
  EXPECT_FALSE(reports[0].changed);
  EXPECT_EQ(to_text(graph), to_text(parse_graph(test.before, op_table())));
}

}  // namespace
}  // namespace thimble
