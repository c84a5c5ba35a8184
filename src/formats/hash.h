// FNV-1a with 64 bits: tells damaged files from whole ones. Each step is a bijection of the state, so a change of a
// single byte is always found. No defence against someone who means harm and can write the manifest too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thimble {

class Fnv1a {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) value_ = (value_ ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace thimble
