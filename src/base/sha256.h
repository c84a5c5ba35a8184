// SHA-256 (FIPS 180-4): tells a file that was fetched from the one that was meant, also against those who mean harm.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace thimble {

class Sha256 {
 public:
  void add(std::span<const std::uint8_t> bytes);
  std::string finish();  // 64 hexadecimal digits, small letters; then nothing more may be added

 private:
  void add_block(const std::uint8_t* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> block_{};  // what does not fill a block yet
  std::uint64_t size_ = 0;                // bytes added
};

}  // namespace thimble
