// Files that lie: every one must be refused with a message, or read as what it truly says.
#include <gtest/gtest.h>

#include <limits>

#include "formats/safetensors.h"
#include "formats/support.h"

namespace thimble {
namespace {

using namespace testing;

std::string file_of(std::string_view header, std::size_t data_bytes) {
  std::string text(8, '\0');
  for (std::size_t index = 0; index < 8; ++index)
    text[index] = static_cast<char>((header.size() >> (8 * index)) & 0xff);
  return text + std::string(header) + std::string(data_bytes, 'd');
}

SafetensorsTable parse(std::string_view text) { return parse_safetensors(text_source(text)); }

std::string refusal_of(std::string_view header, std::size_t data_bytes) {
  return refusal([&] { parse(file_of(header, data_bytes)); });
}

std::string tensor(std::string_view name, std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return join_text("\"", name, "\":{\"dtype\":\"", dtype, "\",\"shape\":", shape, ",\"data_offsets\":", offsets, "}");
}

const std::string kGood = "{\"__metadata__\":{\"k\":\"v\"}," + tensor("a", "F32", "[2,3]", "[0,24]") + "," +
                          tensor("b", "U8", "[5]", "[24,29]") + "}  ";

// All but names and metadata, which no reader can know to be wrong.
std::string structure_of(const SafetensorsTable& table) {
  std::string text;
  for (std::int64_t index = 0; index < table.count(); ++index) {
    const StoredTensor entry = table.at(index);
    text += join_text(name_of(entry.type), to_text(entry.shape), "@", entry.begin, "+", entry.bytes, " ");
  }
  return text;
}

TEST(HostileSafetensors, CutAnywhereIsRefused) {
  const std::string whole = file_of(kGood, 29);
  EXPECT_NO_THROW(parse(whole));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(parse(std::string_view(whole).substr(0, size)), UserError) << "cut to " << size << " bytes";
  EXPECT_THROW(parse(whole + "x"), UserError);
}

TEST(HostileSafetensors, AFlippedBitIsRefusedOrChangesNoMoreThanANameOrAText) {
  const std::string whole = file_of(kGood, 29);
  const std::string wanted = structure_of(parse(whole));
  int refused = 0;
  for (std::size_t position = 0; position < whole.size(); ++position) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = whole;
      flipped[position] = static_cast<char>(flipped[position] ^ (1 << bit));
      try {
        EXPECT_EQ(structure_of(parse(flipped)), wanted) << "byte " << position << ", bit " << bit;
      } catch (const UserError&) {
        ++refused;
      }
    }
  }
  // What may pass are flips within the data, "a", "b", "k" and "v"; about 160 bytes of length and header remain.
  EXPECT_GT(refused, 1100);
}

TEST(HostileSafetensors, AnyByteAnywhereNeverCrashes) {
  const std::string whole = file_of(kGood, 29);
  for (std::size_t position = 0; position < whole.size() - 29; ++position) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = whole;
      changed[position] = static_cast<char>(value);
      refusal([&] { EXPECT_LE(parse(changed).count(), 2); });
    }
  }
}

TEST(HostileSafetensors, GiantHeaderLengthsAreRefusedBeforeAnythingIsReserved) {
  for (const std::uint64_t length : {std::uint64_t{100}, std::uint64_t{17} << 20, std::uint64_t{1} << 40,
                                     std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max()}) {
    std::string text = file_of("{}", 0);
    for (std::size_t index = 0; index < 8; ++index) text[index] = static_cast<char>((length >> (8 * index)) & 0xff);
    const std::string message = refusal([&] { parse(text); });
    EXPECT_NE(message.find(std::to_string(length)), std::string::npos) << message;
  }
}

TEST(HostileSafetensors, AnEmptyFileOfTensorsIsValid) {
  EXPECT_EQ(parse(file_of("{}", 0)).count(), 0);
  EXPECT_NE(refusal_of("{}", 1), "");
  EXPECT_NE(refusal_of("", 0), "");
}

TEST(HostileSafetensors, HolesAndOverlapsAreRefused) {
  const auto two = [](std::string_view first, std::string_view second) {
    return "{" + tensor("a", "U8", "[4]", first) + "," + tensor("b", "U8", "[4]", second) + "}";
  };
  EXPECT_EQ(refusal_of(two("[0,4]", "[4,8]"), 8), "");
  EXPECT_EQ(refusal_of(two("[4,8]", "[0,4]"), 8), "");
  EXPECT_NE(refusal_of(two("[0,4]", "[5,9]"), 9), "");  // hole between
  EXPECT_NE(refusal_of(two("[1,5]", "[5,9]"), 9), "");  // hole before
  EXPECT_NE(refusal_of(two("[0,4]", "[4,8]"), 9), "");  // hole behind
  EXPECT_NE(refusal_of(two("[0,4]", "[3,7]"), 7), "");  // overlap
  EXPECT_NE(refusal_of(two("[0,4]", "[0,4]"), 4), "");  // the same bytes twice
  EXPECT_NE(refusal_of(two("[0,4]", "[4,8]"), 7), "");  // beyond the end
  EXPECT_NE(refusal_of(two("[4,0]", "[4,8]"), 8), "");  // backwards
}

TEST(HostileSafetensors, SizesMustAgreeWithShapes) {
  EXPECT_NE(refusal_of("{" + tensor("a", "F32", "[4]", "[0,4]") + "}", 4), "");
  EXPECT_NE(refusal_of("{" + tensor("a", "F32", "[1]", "[0,8]") + "}", 8), "");
  EXPECT_EQ(refusal_of("{" + tensor("a", "F32", "[0,4]", "[0,0]") + "}", 0), "");
}

TEST(HostileSafetensors, ShapesAreChecked) {
  for (const char* shape : {"[-1]", "[-1,-4]", "[4294967296,4294967296]", "[9223372036854775807,2]",
                            "[0,9223372036854775807,9]", "[18446744073709551615]", "[1e3]", "[4.0]", "[\"4\"]", "[[4]]",
                            "[null]", "[true]", "4", "{}", "null", "[1,1,1,1,1,1,4]", "[99999999999999999999999999]"}) {
    EXPECT_NE(refusal_of("{" + tensor("a", "U8", shape, "[0,4]") + "}", 4), "") << shape;
  }
}

TEST(HostileSafetensors, OffsetsAreChecked) {
  for (const char* offsets : {"[]", "[0]", "[0,4,8]", "[-4,0]", "[0,18446744073709551615]", "[0.0,4.0]", "[\"0\",4]",
                              "[9223372036854775807,-9223372036854775808]", "{}", "4", "null", "[[0,4]]"}) {
    EXPECT_NE(refusal_of("{" + tensor("a", "U8", "[4]", offsets) + "}", 4), "") << offsets;
  }
}

TEST(HostileSafetensors, UnknownTypesAndKeysAreRefused) {
  EXPECT_NE(refusal_of("{" + tensor("a", "Q4", "[4]", "[0,4]") + "}", 4), "");
  EXPECT_NE(refusal_of("{" + tensor("a", "u8", "[4]", "[0,4]") + "}", 4), "");
  EXPECT_NE(refusal_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"extra":1}})", 4), "");
  EXPECT_NE(refusal_of(R"({"a":{"dtype":"U8","shape":[4]}})", 4), "");
  EXPECT_NE(refusal_of(R"({"a":{}})", 0), "");
  EXPECT_NE(refusal_of(R"({"a":[]})", 0), "");
  EXPECT_NE(refusal_of(R"({"a":"text"})", 0), "");
  EXPECT_NE(refusal_of(R"({"a":null})", 0), "");
}

TEST(HostileSafetensors, NothingMayBeSaidTwice) {
  const std::string empty_a = tensor("a", "U8", "[0]", "[0,0]");
  EXPECT_NE(refusal_of("{" + empty_a + "," + empty_a + "}", 0), "");
  EXPECT_NE(refusal_of("{" + empty_a + ",\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0), "");
  EXPECT_NE(refusal_of(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0), "");
  EXPECT_NE(refusal_of(R"({"a":{"dtype":"U8","shape":[0],"shape":[0],"data_offsets":[0,0]}})", 0), "");
  EXPECT_NE(refusal_of(R"({"__metadata__":{},"__metadata__":{}})", 0), "");
  EXPECT_NE(refusal_of(R"({"__metadata__":{"k":"v","k":"w"}})", 0), "");
}

TEST(HostileSafetensors, MetadataHoldTextsOnly) {
  EXPECT_EQ(refusal_of(R"({"__metadata__":{"k":"v"}})", 0), "");
  for (const char* value : {"1", "null", "true", "[]", "{}", "[\"v\"]", "{\"x\":\"y\"}"})
    EXPECT_NE(refusal_of(join_text(R"({"__metadata__":{"k":)", value, "}}"), 0), "") << value;
  EXPECT_NE(refusal_of(R"({"__metadata__":"v"})", 0), "");
}

TEST(HostileSafetensors, BrokenJsonIsRefused) {
  EXPECT_NE(refusal_of(" {}", 0), "");
  EXPECT_NE(refusal_of("[]", 0), "");
  EXPECT_NE(refusal_of("{}{}", 0), "");
  EXPECT_NE(refusal_of("{\"\xff\xfe\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", 0), "");
  EXPECT_NE(refusal_of("{\"a\":" + std::string(100000, '{'), 0), "");
  std::string deep = "{\"a\":";
  for (int level = 0; level < 100000; ++level) deep += "{\"a\":";
  EXPECT_NE(refusal_of(deep, 0), "");
}

TEST(HostileSafetensors, LimitsBoundNamesCountAndMetadata) {
  const SafetensorsLimits limits{.header_bytes = 4096, .tensor_count = 2, .name_bytes = 8, .metadata_bytes = 64};
  const auto refused = [&](const std::string& header) {
    return !refusal([&] { parse_safetensors(text_source(file_of(header, 0)), limits); }).empty();
  };
  const auto empty = [](std::string_view name) { return tensor(name, "U8", "[0]", "[0,0]"); };
  EXPECT_FALSE(refused("{" + empty("a") + "," + empty("b") + "}"));
  EXPECT_TRUE(refused("{" + empty("a") + "," + empty("b") + "," + empty("c") + "}"));
  EXPECT_TRUE(refused("{" + empty("nine bytes") + "}"));
  EXPECT_TRUE(
      refused("{\"__metadata__\":{\"k\":\"" + std::string(30, 'v') + "\",\"l\":\"" + std::string(40, 'v') + "\"}}"));
  EXPECT_TRUE(refused("{}" + std::string(4096, ' ')));
}

TEST(HostileSafetensors, MessagesNameTheTensorTheFoundAndTheWanted) {
  EXPECT_EQ(refusal_of("{" + tensor("w", "F32", "[4]", "[0,4]") + "}", 4),
            "input: tensor \"w\": data_offsets [0,4] span 4 bytes, F32[4] takes 16");
  EXPECT_EQ(refusal_of("{" + tensor("w", "U8", "[4]", "[1,5]") + "}", 5),
            "input: tensor \"w\" starts at 1 of the data, wanted 0: tensors must lie without hole or overlap");
}

}  // namespace
}  // namespace thimble
