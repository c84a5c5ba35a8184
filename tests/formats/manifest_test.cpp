#include "formats/manifest.h"

#include <gtest/gtest.h>

#include "formats/hash.h"
#include "formats/support.h"

namespace thimble {
namespace {

using namespace testing;

const Manifest kManifest{.iteration = 500,
                         .files = {{.name = "model.safetensors", .bytes = 1234, .hash = 0x0123456789abcdef},
                                   {.name = "trainer_state.json", .bytes = 0, .hash = 0xffffffffffffffff}}};

Manifest parse_text(std::string_view text) { return parse_manifest(text_source(text)); }
std::string refusal_of_manifest(std::string_view text) {
  return refusal([&] { parse_text(text); });
}

TEST(Hash, IsFnv1a) {
  const auto hash = [](std::string_view text) {
    Fnv1a fnv;
    fnv.add(bytes_of_text(text));
    return fnv.value();
  };
  EXPECT_EQ(hash(""), 0xcbf29ce484222325U);  // the published test vectors
  EXPECT_EQ(hash("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(hash("foobar"), 0x85944171f73967e8U);
}

TEST(Manifest, ReadsBackTheSame) {
  EXPECT_EQ(parse_text(to_text(kManifest)), kManifest);
  EXPECT_EQ(parse_text(to_text(Manifest{})), Manifest{});
  EXPECT_EQ(to_text(Manifest{.iteration = 1, .files = {{.name = "a", .bytes = 2, .hash = 3}}}),
            R"({"format":"thimble-checkpoint","version":1,"iteration":1,)"
            R"("files":[{"name":"a","bytes":2,"fnv1a64":"0000000000000003"}]})"
            "\n");
}

TEST(Manifest, CutAnywhereIsRefused) {
  const std::string whole = to_text(kManifest);
  for (std::size_t size = 0; size + 1 < whole.size(); ++size)  // the last byte is a line end
    EXPECT_NE(refusal_of_manifest(whole.substr(0, size)), "") << "cut to " << size << " bytes";
}

TEST(Manifest, AnyByteAnywhereNeverCrashes) {
  const std::string whole = to_text(kManifest);
  for (std::size_t position = 0; position < whole.size(); ++position) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = whole;
      changed[position] = static_cast<char>(value);
      refusal([&] { EXPECT_EQ(parse_text(changed).files.size(), 2U) << changed; });
    }
  }
}

TEST(Manifest, NamesStayInsideTheFolder) {
  for (const char* name : {"model.safetensors", "a", "rank-0_of_2.bin"})
    EXPECT_TRUE(is_checkpoint_file_name(name)) << name;
  for (const char* name :
       {"", ".", "..", "../x", "a/b", "/etc/passwd", ".hidden", "a b", "a\\b", "complete.json", "\xc3\xa4"})
    EXPECT_FALSE(is_checkpoint_file_name(name)) << name;
  EXPECT_FALSE(is_checkpoint_file_name(std::string(129, 'a')));
  EXPECT_FALSE(is_checkpoint_file_name(std::string_view("a\0b", 3)));
}

TEST(Manifest, EveryFieldIsChecked) {
  const auto manifest = [](std::string_view format, std::string_view version, std::string_view iteration,
                           std::string_view files) {
    return join_text("{\"format\":", format, ",\"version\":", version, ",\"iteration\":", iteration,
                     ",\"files\":", files, "}");
  };
  const std::string good = R"("thimble-checkpoint")";
  EXPECT_EQ(refusal_of_manifest(manifest(good, "1", "5", "[]")), "");
  EXPECT_NE(refusal_of_manifest(manifest("\"other\"", "1", "5", "[]")), "");
  EXPECT_NE(refusal_of_manifest(manifest("1", "1", "5", "[]")), "");
  EXPECT_NE(refusal_of_manifest(manifest(good, "2", "5", "[]")).find("this build reads version 1"), std::string::npos);
  for (const char* iteration : {"-1", "1.5", "\"5\"", "null", "true", "[5]", "{}", "9223372036854775808"})
    EXPECT_NE(refusal_of_manifest(manifest(good, "1", iteration, "[]")), "") << iteration;
  for (const char* files :
       {"{}",
        "1",
        "null",
        "[1]",
        "[[]]",
        "[{}]",
        "[null]",
        "[\"a\"]",
        R"([{"name":"a","bytes":1}])",
        R"([{"bytes":1,"name":"a","fnv1a64":"0000000000000000"}])",
        R"([{"name":"../a","bytes":1,"fnv1a64":"0000000000000000"}])",
        R"([{"name":"a","bytes":-1,"fnv1a64":"0000000000000000"}])",
        R"([{"name":"a","bytes":1,"fnv1a64":"000000000000000G"}])",
        R"([{"name":"a","bytes":1,"fnv1a64":"ABCDEF0000000000"}])",
        R"([{"name":"a","bytes":1,"fnv1a64":"0"}])",
        R"([{"name":"a","bytes":1,"fnv1a64":"00000000000000000"}])",
        R"([{"name":"a","bytes":1,"fnv1a64":0}])",
        R"([{"name":"a","bytes":{},"fnv1a64":"0000000000000000"}])",
        R"([{"name":"a","bytes":1,"fnv1a64":"0000000000000000","x":1}])",
        R"([{"name":"a","bytes":1,"fnv1a64":"0000000000000000"},{"name":"a","bytes":1,"fnv1a64":"0000000000000000"}])"})
    EXPECT_NE(refusal_of_manifest(manifest(good, "1", "5", files)), "") << files;
  EXPECT_NE(refusal_of_manifest("{}"), "");
  EXPECT_NE(refusal_of_manifest(std::string(70000, ' ')), "");
}

}  // namespace
}  // namespace thimble
