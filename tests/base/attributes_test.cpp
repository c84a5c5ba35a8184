#include "base/attributes.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace thimble {
namespace {

TEST(Attributes, KeepIntegersNumbersAndWordsByName) {
  const Attributes attributes = {{"stride", std::int64_t{2}}, {"eps", 1e-5}, {"activation", std::string("relu")}};
  EXPECT_EQ(attributes.integer("stride"), 2);
  EXPECT_EQ(attributes.number("eps"), 1e-5);
  EXPECT_EQ(attributes.word("activation"), "relu");
  EXPECT_EQ(attributes.number("stride"), 2.0) << "an integer is a number too";
  EXPECT_TRUE(attributes.has("eps"));
  EXPECT_FALSE(attributes.has("ep"));
}

TEST(Attributes, AWrongKindOrAMissingNameIsOurError) {
  const Attributes attributes = {{"stride", std::int64_t{2}}, {"eps", 1e-5}, {"activation", std::string("relu")}};
  EXPECT_THROW(attributes.integer("eps"), InternalError);
  EXPECT_THROW(attributes.number("activation"), InternalError);
  EXPECT_THROW(attributes.word("stride"), InternalError);
  EXPECT_THROW(attributes.integer("missing"), InternalError);
}

TEST(Attributes, AreEqualWhateverTheOrderOfSetting) {
  Attributes a, b;
  a.set("b", std::int64_t{1});
  a.set("a", 2.0);
  b.set("a", 7.0);
  b.set("b", std::int64_t{1});
  EXPECT_NE(a, b);
  b.set("a", 2.0);
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.items().size(), 2U);
  EXPECT_EQ(a.items()[0].first, "a");
  a.set("a", std::int64_t{2});
  EXPECT_NE(a, b) << "2 and 2.0 are different values";
}

TEST(Attributes, TextTellsNumbersFromIntegers) {
  EXPECT_EQ(to_text(Attributes{}), "");
  EXPECT_EQ(to_text(Attributes{{"stride", std::int64_t{2}}, {"padding", std::int64_t{-1}}}), "{padding=-1, stride=2}");
  EXPECT_EQ(attribute_text(2.0), "2.0");
  EXPECT_EQ(attribute_text(0.25), "0.25");
  EXPECT_EQ(attribute_text(1e30), "1e+30");
  EXPECT_EQ(attribute_text(std::int64_t{2}), "2");
  EXPECT_EQ(attribute_text(std::string("relu")), "relu");
}

}  // namespace
}  // namespace thimble
