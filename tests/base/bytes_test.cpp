#include "base/bytes.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace thimble {
namespace {

TEST(ParseBytes, TakesANumberAndAUnit) {
  EXPECT_EQ(parse_bytes("64MiB"), 64 * kMiB);
  EXPECT_EQ(parse_bytes("64MB"), 64'000'000);
  EXPECT_EQ(parse_bytes("1GiB"), kGiB);
  EXPECT_EQ(parse_bytes("2GB"), 2'000'000'000);
  EXPECT_EQ(parse_bytes("4G"), 4 * kGiB);
  EXPECT_EQ(parse_bytes("1TiB"), 1024 * kGiB);
  EXPECT_EQ(parse_bytes("1T"), 1024 * kGiB);
  EXPECT_EQ(parse_bytes("3TB"), 3'000'000'000'000);
  EXPECT_EQ(parse_bytes("3M"), 3 * kMiB);
  EXPECT_EQ(parse_bytes("3K"), 3 * kKiB);
  EXPECT_EQ(parse_bytes("7KiB"), 7 * kKiB);
  EXPECT_EQ(parse_bytes("7KB"), 7000);
  EXPECT_EQ(parse_bytes("7kB"), 7000);
  EXPECT_EQ(parse_bytes("123456B"), 123456);
  EXPECT_EQ(parse_bytes("1.5GiB"), 3 * kGiB / 2);
  EXPECT_EQ(parse_bytes("0.5KiB"), 512);
  EXPECT_EQ(parse_bytes("1B"), 1);
}

class RefusedSize : public ::testing::TestWithParam<const char*> {};

TEST_P(RefusedSize, IsAUserErrorThatQuotesIt) {
  try {
    const Bytes bytes = parse_bytes(GetParam());
    FAIL() << "'" << GetParam() << "' was taken as " << bytes;
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find(std::string("'") + GetParam() + "'"), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(All, RefusedSize,
                         ::testing::Values("", "64", "MiB", "64 MiB", " 64MiB", "64MiB ", "64mib", "64MIB", "64PiB",
                                           "0MiB", "-1MiB", "+1MiB", "0.1B", "1e3MiB", "nanMiB", "infB", "nan", "0x10B",
                                           "64MiBMiB", "1,5GiB", "10000000000GiB", "99999999999999999999999999999999B",
                                           "64Mi", "..5B"));

TEST(BytesText, ShowsBytesAndARoundedUnit) {
  EXPECT_EQ(to_mib(0), "0.0 MiB");
  EXPECT_EQ(to_mib(33'449'574), "31.9 MiB");
  EXPECT_EQ(to_bytes_text(33'554'432), "33,554,432 B (32.0 MiB)");
  EXPECT_EQ(to_bytes_text(999), "999 B (0.0 MiB)");
  EXPECT_EQ(to_bytes_text(1000), "1,000 B (0.0 MiB)");
  EXPECT_EQ(to_bytes_text(-1'234'567), "-1,234,567 B (-1.2 MiB)");
  EXPECT_EQ(to_bytes_text(-123), "-123 B (-0.0 MiB)");
}

TEST(RoundUp, GoesToTheNextMultiple) {
  EXPECT_EQ(round_up(0, 64), 0);
  EXPECT_EQ(round_up(1, 64), 64);
  EXPECT_EQ(round_up(64, 64), 64);
  EXPECT_EQ(round_up(65, 64), 128);
}

}  // namespace
}  // namespace thimble
