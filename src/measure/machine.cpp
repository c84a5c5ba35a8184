#include "measure/machine.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/error.h"

namespace thimble {
namespace {

constexpr int kMostCaches = 16;
constexpr Bytes kMostBytes = 64 * kGiB;  // of a cache that could be meant

// "32768K"; 0 for anything else.
Bytes cache_size(std::istream& in) {
  Bytes size = 0;
  char unit = 0;
  if (!(in >> size) || size <= 0 || size > kMostBytes) return 0;
  if (!(in >> unit)) return size;
  const Bytes factor = unit == 'K' ? kKiB : unit == 'M' ? kMiB : 0;
  return size * factor <= kMostBytes ? size * factor : 0;
}

}  // namespace

std::string cpu_name() {
#if defined(__x86_64__)
  constexpr std::uint32_t kBrand = 0x80000002U, kBrandLeaves = 3, kSignature = 1;
  std::array<std::uint32_t, 4 * kBrandLeaves> words{};
  for (std::uint32_t leaf = 0; leaf < kBrandLeaves; ++leaf) {
    std::uint32_t* w = words.data() + std::size_t{4} * leaf;
    if (__get_cpuid(kBrand + leaf, w, w + 1, w + 2, w + 3) == 0) return "unknown";
  }
  std::array<char, sizeof(words) + 1> text{};
  std::memcpy(text.data(), words.data(), sizeof(words));
  std::string name = text.data();
  name.erase(name.find_last_not_of(' ') + 1);
  name.erase(0, name.find_first_not_of(' '));
  // Clouds give many processors one name: the signature tells them apart.
  std::uint32_t signature = 0, unused[3] = {};
  __get_cpuid(kSignature, &signature, unused, unused + 1, unused + 2);
  return join_text(name, " #", signature);
#elif defined(__aarch64__)
  // Arm's processors have no name, but a number that tells maker, part and revision.
  std::string number;
  std::ifstream("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1") >> number;
  return number.empty() ? "unknown" : "aarch64 #" + number;
#else
  return "unknown";
#endif
}

Bytes last_level_cache_bytes(const std::string& folder) {
  Bytes last = 0;
  int highest = 0;
  for (int index = 0; index < kMostCaches; ++index) {
    const std::string cache = join_text(folder, "/index", index);
    std::ifstream level_file(cache + "/level"), size_file(cache + "/size");
    int level = 0;
    if (!(level_file >> level)) break;
    if (level <= highest) continue;
    if (const Bytes size = cache_size(size_file); size > 0) {
      highest = level;
      last = size;
    }
  }
  return last;
}

}  // namespace thimble
