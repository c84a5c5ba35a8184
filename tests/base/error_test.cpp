#include "base/error.h"

#include <gtest/gtest.h>

#include <charconv>
#include <limits>

#include "base/random.h"

namespace thimble {
namespace {

template <typename Error, typename Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Require, JoinsItsPartsIntoAUserError) {
  const std::string text = "w";
  EXPECT_EQ(message_of<UserError>(
                [&] { require(false, "conv2d: ", text, " has ", 3, " channels, wanted ", std::int64_t{-4}); }),
            "conv2d: w has 3 channels, wanted -4");
  EXPECT_EQ(message_of<UserError>([] { fail_user("plain"); }), "plain");
  EXPECT_NO_THROW(require(true, "never said"));
}

TEST(Ensure, IsOurOwnErrorAndNotTheUsers) {
  EXPECT_EQ(message_of<InternalError>([] { ensure(false, "offset ", 1.5, " of ", std::size_t{7}); }),
            "offset 1.5 of 7");
  EXPECT_THROW(ensure(false, "x"), std::logic_error);
  EXPECT_NO_THROW(ensure(true, "never said"));
}

TEST(NumberText, IsTheShortestThatReadsBack) {
  EXPECT_EQ(to_text(0.1), "0.1");
  EXPECT_EQ(to_text(1.0), "1");
  EXPECT_EQ(to_text(-2.5e-7), "-2.5e-07");
  EXPECT_EQ(to_text(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(to_text(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(NumberText, EveryDoubleReadsBackAsItself) {
  for (std::uint64_t n = 0; n < 20000; ++n) {
    const auto bits = random_bits({1, 2}, n, 0);
    const auto value = std::bit_cast<double>((std::uint64_t{bits[0]} << 32) | bits[1]);
    if (value != value) continue;
    const std::string text = to_text(value);
    double back = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), back);
    ASSERT_EQ(result.ptr, text.data() + text.size()) << text;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(back), std::bit_cast<std::uint64_t>(value)) << text;
  }
}

}  // namespace
}  // namespace thimble
