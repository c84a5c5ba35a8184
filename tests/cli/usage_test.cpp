#include <gtest/gtest.h>

#include "cli/run_thimble.h"

namespace thimble::testing {
namespace {

struct UsageMistake {
  Words words;
  std::vector<std::string> said;  // on stderr
};

// Each ends with code one, says nothing on stdout, and names the found and the wanted on stderr.
void expect_refused(const std::vector<UsageMistake>& mistakes) {
  for (const UsageMistake& mistake : mistakes) {
    const Outcome outcome = run_thimble(mistake.words);
    std::string line;
    for (const std::string& word : mistake.words) line += word + " ";
    EXPECT_EQ(outcome.code, 1) << line << outcome.err;
    EXPECT_EQ(outcome.out, "") << line;
    for (const std::string& part : mistake.said)
      EXPECT_TRUE(contains(outcome.err, part)) << line << "\n" << outcome.err;
  }
}

TEST(Usage, WrongWordsAreNamed) {
  expect_refused({
      {{"trian"}, {"no verb 'trian'", "did you mean 'train'"}},
      {{"--json", "plan"}, {"wanted a verb first"}},
      {{"plan"}, {"found no model"}},
      {{"plan", "wrn28-2", "lenet-300-100"}, {"second model 'lenet-300-100'"}},
      {{"plan", "lenet-300-10"}, {"no network 'lenet-300-10'; did you mean 'lenet-300-100'? Known: wrn<d>-<k>[-gn]"}},
      {{"plan", "alexnet"}, {"no network 'alexnet'", "Known: wrn<d>-<k>[-gn], resnet<18|34|50|101|152>[-gn], "}},
      {{"plan", "unet", "--data", "glyphs"},
       {"unet wants a class for every place of an image, glyphs has one for each"}},
      {{"plan", "WRN28-2"}, {"did you mean 'wrn28-2'?"}},
      {{"plan", "lenet-300-100-gn"}, {"did you mean 'lenet-300-100'?"}},
      {{"plan", "wrn27-2"}, {"found depth 27, wanted 6n + 4"}},
      {{"plan", "wrn100000000000-2"}, {"found depth 100000000000", "at most 1000"}},
      {{"plan", "wrn28-999"}, {"found width 999, wanted 1 to 64"}},
      {{"plan", ""}, {"an empty word on the command line"}},
      {{"plan", "wrn28-2", "--bacth", "10"}, {"'--bacth'", "did you mean '--batch'"}},
      {{"plan", "wrn28-2", "--zzzzzz"}, {"has no option '--zzzzzz'. 'thimble plan --help' lists them"}},
      {{"plan", "wrn28-2", "-batch", "10"}, {"two dashes", "did you mean '--batch'"}},
      {{"plan", "wrn28-2", "--resume", "x"}, {"'plan' has no option '--resume': it belongs to train"}},
      {{"plan", "wrn28-2", "--batch", "--json"}, {"--batch: found no value"}},
      {{"plan", "wrn28-2", "--json=yes"}, {"--json takes no value"}},
      {{"plan", "wrn28-2", "--optimizer", "adam"}, {"found 'adam'", "did you mean 'adamw'"}},
      {{"plan", "wrn28-2", "--skip-pass", "simplfy"}, {"did you mean 'simplify'"}},
      {{"plan", "wrn28-2", "--optimizer", "sgd", "--momentum", "0.9"}, {"sgd has none"}},
      {{"plan", "wrn28-2", "--config", "nowhere.toml"}, {"cannot read nowhere.toml: No such file or directory"}},
      {{"plan", "wrn28-2", "--config", "/"}, {"cannot read /: it is not a regular file"}},
      {{"models", "wrn"}, {"takes no 'wrn'"}},
  });
}

TEST(Usage, NumbersOutOfTheirBoundsAreNamedWithThem) {
  expect_refused({
      {{"plan", "wrn28-2", "--batch"}, {"--batch: found no value, wanted N"}},
      {{"plan", "wrn28-2", "--batch", "0"}, {"--batch: found '0'", "at least 1"}},
      {{"plan", "wrn28-2", "--batch", "12.5"}, {"--batch: found '12.5'", "a whole number"}},
      {{"plan", "wrn28-2", "--batch", "-3"}, {"--batch: found '-3'", "at least 1 and less than 16777217"}},
      {{"plan", "wrn28-2", "--batch", "nan"}, {"--batch: found 'nan'", "a whole number"}},
      {{"plan", "wrn28-2", "--batch="}, {"--batch: found ''", "a whole number"}},
      {{"plan", "wrn28-2", "--batch", "99999999999999999999"}, {"'99999999999999999999'", "less than 16777217"}},
      {{"plan", "wrn28-2", "--classes", "99999999999"}, {"'99999999999'", "at least 2 and less than 16777217"}},
      {{"plan", "wrn28-2", "--epochs", "9223372036854775807"}, {"--epochs", "less than 1000000000"}},
      {{"plan", "wrn28-2", "--seed", "99999999999999999999"}, {"at least 0 and at most 9223372036854775807"}},
      {{"plan", "wrn28-2", "--seed", "-1"}, {"--seed: found '-1'", "at least 0"}},
      {{"plan", "wrn28-2", "--lr", "nan"}, {"--lr: found 'nan', wanted a number, at least 0"}},
      {{"plan", "wrn28-2", "--lr", "inf"}, {"--lr: found 'inf'"}},
      {{"plan", "wrn28-2", "--clip-norm", "0"}, {"--clip-norm: found 0", "wanted a length above 0"}},
      {{"plan", "wrn28-2", "--clip-norm", "-1"}, {"--clip-norm: found '-1'", "at least 0"}},
      {{"plan", "wrn28-2", "--clip-norm", "inf"}, {"--clip-norm: found 'inf'"}},
      {{"plan", "wrn28-2", "--threads", "100000"}, {"at least 1 and less than 1025"}},
      {{"plan", "wrn28-2", "--input", "32x32"}, {"'32x32'", "32x32x3"}},
      {{"plan", "wrn28-2", "--input", "0x32x3"}, {"'0x32x3'", "each from 1 to 65536"}},
      {{"plan", "wrn28-2", "--input", "99999999x99999999x3"}, {"each from 1 to 65536"}},
      {{"plan", "wrn28-2", "--input", "65536x65536x3", "--batch", "16777216"},
       {"[16777216,65536,65536,3] has too many"}},
      {{"plan", "wrn28-2", "--data", "glyphs", "--classes", "4"}, {"the data set says it already"}},
  });
}

TEST(Usage, MemoryOptionsThatMakeNoSenseAreRefused) {
  expect_refused({
      {{"plan", "wrn28-2", "--memory", "32"}, {"without a unit", "32MiB"}},
      {{"plan", "wrn28-2", "--memory", "0"}, {"--memory: found '0' without a unit", "such as 32MiB, or 80% or auto"}},
      {{"plan", "wrn28-2", "--memory", "nan"}, {"--memory: found 'nan' without a unit", "such as 32MiB"}},
      {{"plan", "wrn28-2", "--memory", "0MiB"}, {"--memory: size '0MiB' is out of range", "such as 64MiB"}},
      {{"plan", "wrn28-2", "--memory", "-5MiB"}, {"--memory: size '-5MiB' is out of range"}},
      {{"plan", "wrn28-2", "--memory", "99999999999TiB"}, {"--memory: size '99999999999TiB' is out of range"}},
      {{"plan", "wrn28-2", "--memory="}, {"--memory: found nothing, wanted SIZE"}},
      {{"plan", "wrn28-2", "--memory", "inf%"}, {"'inf%'", "up to 100%"}},
      {{"plan", "wrn28-2", "--tensor-memory", "5"}, {"--tensor-memory: found '5' without a unit", "such as 5MiB"}},
      {{"plan", "wrn28-2", "--tensor-memory", "10%"}, {"--tensor-memory: size '10%' is not understood"}},
      {{"plan", "wrn28-2", "--memory", "32XB"}, {"'32XB'", "MiB"}},
      {{"plan", "wrn28-2", "--memory", "120%"}, {"'120%'", "up to 100%"}},
      {{"plan", "wrn28-2", "--allow", "microbatch-nrom"}, {"'microbatch-nrom'", "did you mean 'microbatch-norm'"}},
      {{"plan", "wrn28-2", "--allow", "microbatch-norm,"}, {"a comma between each two"}},
      {{"plan", "wrn28-2", "--microbatch", "200"}, {"found '200'", "the batch, 100"}},
      {{"plan", "wrn28-2", "--microbatch", "10"}, {"batch norm", "--allow microbatch-norm", "wrn28-2-gn"}},
      {{"plan", "lenet-300-100", "--batch", "3", "--microbatch", "7"}, {"found '7'", "from 1 to the batch, 3"}},
      {{"explore", "wrn28-2", "--microbatch", "10"}, {"batch norm", "--allow microbatch-norm", "wrn28-2-gn"}},
      {{"plan", "wrn28-2", "--sparsity", "1"}, {"less than 1"}},
      {{"plan", "wrn28-2", "--master", "none"}, {"--master none goes with --precision bf16"}},
      {{"plan", "wrn28-2", "--sparse-method", "dsr"}, {"--sparse-method: goes with --sparsity"}},
  });
}

TEST(Usage, RunsThatCannotBeginAreRefusedBeforeAnythingIsPrinted) {
  expect_refused({
      {{"train", "wrn28-2-gn-gn", "--data", "glyphs"}, {"did you mean 'wrn28-2-gn'?"}},
      {{"train", "wrn28-2"}, {"found no --data", "thimble data"}},
      {{"train", "wrn28-2", "--data", "cifar10"}, {"THIMBLE_DATA"}},
      {{"train", "wrn28-2", "--data", "glyph"}, {"did you mean 'glyphs'"}},
      {{"train", "wrn28-2", "--data", "glyphs", "--epochs", "1", "--steps", "2"}, {"both epochs and steps"}},
      {{"train", "wrn28-2", "--data", "glyphs", "--lr-schedule", "steps"}, {"no --lr-steps"}},
      {{"train", "wrn28-2", "--data", "glyphs", "--lr-steps", "3"}, {"--lr-schedule steps"}},
      {{"train", "lenet-300-100", "--data", "glyphs", "--steps", "2", "--warmup", "5"}, {"fewer than the run's 2"}},
      {{"train", "lenet-300-100", "--data", "glyphs", "--batch", "100000"}, {"'glyphs' has 20000 training samples"}},
      {{"train", "lenet-300-100", "--data", "/proc/self/task"}, {"found no data set there", "data_batch_1.bin"}},
      {{"train", "lenet-300-100", "--data", "glyphs", "--weights", "nowhere"}, {"cannot read nowhere: No such file"}},
      {{"train", "wrn28-2", "--data", "glyphs", "--out", "/proc/self/none"}, {"/proc/self/none"}},
      {{"train", "--resume", "/nonexistent/run"}, {"found no such folder", "--out"}},
      {{"train", "--resume", "/proc/self", "--out", "x"}, {"both --resume and --out"}},
      {{"train", "--resume", "/proc/self/task"}, {"neither options.toml nor checkpoints"}},
      {{"eval", "wrn28-2", "--data", "glyphs"}, {"found no --weights"}},
  });
}

TEST(Usage, HelpIsThereForEveryVerb) {
  EXPECT_EQ(run_thimble({"--help"}).code, 0);
  for (const std::string verb : {"train", "plan", "explore", "bench", "eval", "models", "ops", "data"}) {
    const Outcome outcome = run_thimble({verb, "--help"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_TRUE(contains(outcome.out, "Examples:")) << verb;
    EXPECT_TRUE(contains(outcome.out, "Exit codes:")) << verb;
    EXPECT_TRUE(contains(run_thimble({"--help"}).out, "  " + verb + " ")) << verb;
  }
  EXPECT_TRUE(contains(run_thimble({"train", "-h"}).out, "--lr-schedule constant|steps|cosine|one-cycle"));
}

TEST(Usage, HelpOfAVerbIsFoundEitherWay) {
  EXPECT_EQ(run_thimble({"help", "plan"}).out, run_thimble({"plan", "--help"}).out);
  const Outcome outcome = run_thimble({"help", "plna"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "did you mean 'plan'?")) << outcome.err;
}

TEST(Usage, BudgetsBeyondTheMachineAreTaken) {
  const Outcome outcome = run_thimble({"plan", "lenet-300-100", "--threads", "1", "--json", "--memory", "1TiB"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json().at("budget_bytes"), std::int64_t{1} << 40);
}

TEST(Usage, WithoutAVerbTheHelpIsAnError) {
  const Outcome outcome = run_thimble({});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "Usage: thimble VERB"));
}

TEST(Usage, VersionIsOneLine) { EXPECT_EQ(run_thimble({"--version"}).out.substr(0, 8), "thimble "); }

TEST(Lists, ListsAreJsonToo) {
  const nlohmann::json ops = run_thimble({"ops", "--json"}).json();
  EXPECT_GT(ops.size(), 30U);
  for (const auto& op : ops) EXPECT_FALSE(op.at("formula").get<std::string>().empty()) << op.at("name");
  EXPECT_EQ(run_thimble({"models", "--json"}).json().at(0).at("example"), "wrn28-2");
  for (const auto& set : run_thimble({"data", "--json"}).json()) {
    EXPECT_EQ(set.at("present").get<bool>(), set.at("name") == "glyphs" || set.at("name") == "glyph-masks");
  }
}

TEST(Lists, OpsSayWhatTheyAre) {
  const std::string text = run_thimble({"ops"}).out;
  EXPECT_TRUE(contains(text, "conv2d\n"));
  EXPECT_TRUE(contains(text, "gradient rules: "));
  EXPECT_TRUE(contains(text, "in place: output 0 over input 0"));
  EXPECT_TRUE(contains(text, "batch coupled"));
}

}  // namespace
}  // namespace thimble::testing
