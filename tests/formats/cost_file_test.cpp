#include "formats/cost_file.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "formats/support.h"

namespace thimble::testing {
namespace {

CostFile sample() {
  return {{"Some CPU \"X\" #17", "avx512", "0.1.0"},
          {{1, "conv2d f32[8,4,4,3] -> f32[8,4,4,16] {stride=1}", 1.25e-6, 13824, 9.5e3},
           {2, "add f32[8] f32[8] -> f32[8]", 3e-7, 8, 96},
           {2, "reference odd", 1, 0, 0}}};
}

CostFile parsed(std::string_view text) { return parse_costs(memory_source(bytes_of_text(text), "costs.json")); }

std::string fault_of(std::string_view text) {
  try {
    parsed(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  ensure(at != text.npos, "test: the text has no ", from);
  return text.replace(at, from.size(), to);
}

TEST(CostFile, ReadsWhatItWrites) {
  EXPECT_EQ(parsed(to_text(sample())), sample());
  const CostFile none{{"cpu", "avx2", "1"}, {}};
  EXPECT_EQ(parsed(to_text(none)), none);
}

TEST(CostFile, CutOffAnywhereItIsRefused) {
  const std::string text = to_text(sample());
  for (std::size_t size = 0; size + 2 < text.size(); ++size)
    EXPECT_NE(fault_of(std::string_view(text).substr(0, size)), "") << size;
}

TEST(CostFile, WithAnyByteChangedItIsRefusedOrStillSound) {
  const std::string text = to_text(sample());
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char byte : {'\0', '"', '9', '{', '\xff'}) {
      std::string changed = text;
      changed[at] = byte;
      if (!fault_of(changed).empty()) continue;
      for (const CostEntry& entry : parsed(changed).entries) EXPECT_GT(entry.seconds, 0);
    }
  }
}

TEST(CostFile, WhatMakesNoSenseIsNamed) {
  const std::string text = to_text(sample());
  const auto expect = [&](const std::string& from, const std::string& to, const std::string& said) {
    const std::string fault = fault_of(replaced(text, from, to));
    EXPECT_NE(fault.find("costs.json"), fault.npos) << fault;
    EXPECT_NE(fault.find(said), fault.npos) << fault;
  };
  expect("thimble costs", "thimble checkpoint", "format is \"thimble checkpoint\"");
  expect("\"version\":1", "\"version\":2", "is of version 2, this build reads version 1");
  expect("\"threads\":1", "\"threads\":0", "threads is 0");
  expect("\"threads\":1", "\"threads\":1.5", "\"threads\" is a number");
  expect("\"threads\":1", "\"threads\":9223372036854775807", "threads is 9223372036854775807");
  expect("\"seconds\":3e-07", "\"seconds\":0", "seconds is 0");
  expect("\"seconds\":3e-07", "\"seconds\":-3e-07", "seconds is -3e-07");
  expect("\"seconds\":3e-07", "\"seconds\":1e300", "seconds is 1e+300");
  expect("\"seconds\":3e-07", "\"seconds\":null", "null");
  expect("\"seconds\":3e-07", "\"seconds\":\"1\"", "a text");
  expect("\"flops\":8", "\"flops\":-8", "flops is -8");
  expect("\"bytes\":96", "\"byte\":96", "found key \"byte\", wanted bytes");
  expect("\"threads\":1", "\"threads\":2", "out of order or twice");
  expect("\"cpu\"", "\"isa\"", "found key \"isa\", wanted cpu");
  expect("\"costs\":[", "\"costs\":{\"a\":[", "an object stands where none is wanted");
  EXPECT_NE(fault_of(""), "");
  EXPECT_NE(fault_of("[]"), "");
  EXPECT_NE(fault_of("{}"), "");
  EXPECT_NE(fault_of(text + "{}"), "");
}

TEST(CostFile, MoreThanItsMostIsRefused) {
  CostFile file = sample();
  file.entries.assign(kMostCosts, {1, "", 1, 1, 1});
  for (std::size_t i = 0; i < file.entries.size(); ++i) file.entries[i].use = std::to_string(100'000 + i);
  EXPECT_EQ(parsed(to_text(file)), file);
  const std::string more =
      replaced(to_text(file), "\n]", ",{\"threads\":9,\"use\":\"\",\"seconds\":1,\"flops\":1,\"bytes\":1}]");
  EXPECT_NE(fault_of(more).find("lists more than 4096 costs"), std::string::npos);
}

TEST(CostFile, AFileOfGigabytesIsNotRead) {
  const ByteSource huge{"huge.json", Bytes{1} << 40, [](Bytes, std::span<std::byte>) { fail_internal("was read"); }};
  EXPECT_THROW(parse_costs(huge), UserError);
}

}  // namespace
}  // namespace thimble::testing
