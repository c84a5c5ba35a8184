#include "base/sha256.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace thimble {
namespace {

std::string sum_of(std::string_view text) {
  Sha256 sum;
  sum.add({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  return sum.finish();
}

// FIPS 180-4's examples and NIST's long ones.
TEST(Sha256, GivesThePublishedSums) {
  EXPECT_EQ(sum_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sum_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sum_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sum_of(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotCareHowTheBytesArePieced) {
  std::vector<std::uint8_t> bytes(300);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 7);
  for (std::size_t size = 50; size <= 130; ++size) {
    const std::span<const std::uint8_t> all = std::span(bytes).first(size);
    Sha256 whole, pieces;
    whole.add(all);
    for (std::size_t at = 0; at < size; at += 13) pieces.add(all.subspan(at, std::min<std::size_t>(13, size - at)));
    EXPECT_EQ(whole.finish(), pieces.finish()) << size;
  }
}

}  // namespace
}  // namespace thimble
