#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "formats/json_reader.h"
#include "formats/json_text.h"
#include "formats/support.h"

namespace thimble {
namespace {

using namespace testing;

// Writes the events down as text.
class Recorder final : public JsonEvents {
 public:
  std::string log;
  void on_begin_object() override { log += "{"; }
  void on_end_object() override { log += "}"; }
  void on_begin_array() override { log += "["; }
  void on_end_array() override { log += "]"; }
  void on_key(std::string_view key) override { log += join_text(key, "="); }
  void on_text(std::string_view text) override { log += join_text("'", text, "' "); }
  void on_integer(std::int64_t value) override { log += join_text(value, " "); }
  void on_number(double value) override { log += join_text("~", value, " "); }
  void on_boolean(bool value) override { log += value ? "yes " : "no "; }
  void on_null() override { log += "null "; }

 private:
  [[noreturn]] void refuse(std::string_view found) const override { fail_internal(std::string(found)); }
};

std::string events_of(std::string_view text, const JsonLimits& limits = {}) {
  Recorder recorder;
  read_json(text_source(text), 0, static_cast<Bytes>(text.size()), limits, recorder);
  return recorder.log;
}

std::string refusal_of_json(std::string_view text, const JsonLimits& limits = {}) {
  return refusal([&] { events_of(text, limits); });
}

TEST(JsonReader, ReportsEveryKindOfValue) {
  EXPECT_EQ(events_of(R"({"a":1,"b":-2,"c":0.5,"d":"x","e":[true,false,null],"f":{}})"),
            "{a=1 b=-2 c=~0.5 d='x' e=[yes no null ]f={}}");
}

TEST(JsonReader, IntegersBeyond63BitsArriveAsNumbers) {
  EXPECT_EQ(events_of(R"({"a":9223372036854775807})"), "{a=9223372036854775807 }");
  EXPECT_EQ(events_of(R"({"a":9223372036854775808})"), "{a=~9223372036854775808 }");
  EXPECT_NE(refusal_of_json(R"({"a":1e999})"), "");
}

TEST(JsonReader, TakesOneObjectAndWhiteSpaceOnly) {
  EXPECT_EQ(events_of("{} \n"), "{}");
  for (const char* text : {"",
                           " {}",
                           "[]",
                           "1",
                           "{",
                           "}",
                           "{}x",
                           "{}{}",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{'a':1}",
                           "{\"a\":01}",
                           "{\"a\":NaN}",
                           "\xef\xbb\xbf{}",
                           "{/**/}",
                           "{\"a\":\"\xff\"}",
                           "{\"a\":\"\xed\xa0\x80\"}",
                           "{\"a\":\"\n\"}",
                           "{\"a\":\"\\ud800\"}"}) {
    EXPECT_NE(refusal_of_json(text), "") << text;
  }
}

TEST(JsonReader, DepthIsBounded) {
  EXPECT_EQ(events_of(R"({"a":[[[]]]})", {.depth = 4}), "{a=[[[]]]}");
  EXPECT_EQ(refusal_of_json(R"({"a":[[[[]]]]})", {.depth = 4}), "input: JSON at byte 9 is nested deeper than 4 levels");
  EXPECT_NE(refusal_of_json("{\"a\":" + std::string(1000000, '[')), "");
}

TEST(JsonReader, TokensAndRunsOfSpaceAreBounded) {
  const JsonLimits limits{.depth = 2, .token_bytes = 1000};
  EXPECT_EQ(refusal_of_json("{\"a\":\"" + std::string(900, 'x') + "\"}", limits), "");
  EXPECT_NE(refusal_of_json("{\"a\":\"" + std::string(1001, 'x') + "\"}", limits), "");
  EXPECT_NE(refusal_of_json("{\"a\":" + std::string(1001, '1') + "}", limits), "");
  EXPECT_NE(refusal_of_json("{\"a\":" + std::string(1001, ' ') + "1}", limits), "");
  EXPECT_EQ(refusal_of_json("{\"a\":1}" + std::string(100001, ' '), limits),
            "");  // behind the object there is no token
}

TEST(JsonReader, CrossesChunks) {
  std::string text = "{\"list\":[";
  std::string wanted = "{list=[";
  for (int value = 0; value < 30000; ++value) {
    text += std::to_string(value) + (value < 29999 ? "," : "]}");
    wanted += std::to_string(value) + " ";
  }
  ASSERT_GT(static_cast<Bytes>(text.size()), 2 * kChunkBytes);
  EXPECT_EQ(events_of(text), wanted + "]}");
}

TEST(JsonText, WhatIsWrittenReadsBackTheSame) {
  const std::string odd = "quote\" back\\ line\n tab\t bell\x07 z\xc3\xa4hlen \xe2\x82\xac \xf0\x9f\x98\x80";
  JsonObject object;
  object.text("t", odd).integer("i", -7).number("n", 0.1).boolean("b", true).raw("r", "[1]");
  EXPECT_EQ(events_of(object.to_string()), "{t='" + odd + "' i=-7 n=~0.1 b=yes r=[1 ]}");
  EXPECT_EQ(JsonObject().to_string(), "{}");
}

TEST(JsonText, NumbersThatJsonLacksBecomeNull) {
  JsonObject object;
  object.number("nan", std::nan("")).number("inf", std::numeric_limits<double>::infinity());
  EXPECT_EQ(object.to_string(), R"({"nan":null,"inf":null})");
}

TEST(JsonText, KnowsUtf8) {
  for (const char* text : {"", "plain", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(text)) << text;
  for (const char* text :
       {"\xff", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "a\x80"})
    EXPECT_FALSE(is_utf8(text));
  EXPECT_EQ(events_of(JsonObject().text("a", "x\xff y").to_string()), "{a='x\xef\xbf\xbd y' }");
}

}  // namespace
}  // namespace thimble
