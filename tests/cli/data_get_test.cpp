// `thimble data get` against a server on this machine, by the real program.
#include <gtest/gtest.h>

#include "data/file_server.h"
#include "run_thimble.h"

namespace thimble::testing {
namespace {

using test::ByteList;

Outcome run_with_root(const Words& words, const std::string& root) {
  return run_thimble(words, {}, [&] { ::setenv("THIMBLE_DATA", root.c_str(), 1); });
}

TEST(DataGet, RefusesAnArchiveThatIsNotThePublishedOne) {
  const test::FileServer server({{"/mirror/cifar-10-binary.tar.gz", ByteList(1000, 1)}});
  const TempFolder root;
  const Outcome outcome = run_with_root({"data", "get", "cifar10", "--from", server.url() + "/mirror"}, root / "data");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "found 1000 bytes")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "wanted 170052171 with c4a38c50")) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(root / "data/cifar-10-batches-bin"));
}

TEST(DataGet, SaysWhatItWants) {
  const TempFolder root;
  const struct {
    Words words;
    const char* message;
  } cases[] = {
      {{"data", "get"}, "thimble data get cifar10"},
      {{"data", "fetch", "cifar10"}, "found 'fetch cifar10'"},
      {{"data", "get", "imagenet"}, "cifar10, cifar100, mnist"},
      {{"data", "get", "mnist", "--from", "somewhere"}, "https://"},
      {{"data", "--from", "http://x"}, "--from goes with get"},
  };
  for (const auto& [words, message] : cases) {
    const Outcome outcome = run_with_root(words, root / "data");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(contains(outcome.err, message)) << outcome.err;
  }
  const Outcome homeless = run_thimble({"data", "get", "mnist"});
  EXPECT_EQ(homeless.code, 1);
  EXPECT_TRUE(contains(homeless.err, "THIMBLE_DATA")) << homeless.err;
}

}  // namespace
}  // namespace thimble::testing
