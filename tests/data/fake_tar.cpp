#include "data/fake_tar.h"

#include <cstdio>

namespace thimble::test {

ByteList tar_header(const TarEntry& entry) {
  ByteList header(512, 0);
  const auto put = [&](std::size_t at, const std::string& text) {
    std::copy(text.begin(), text.end(), header.begin() + static_cast<std::ptrdiff_t>(at));
  };
  char number[16];
  put(0, entry.path);
  put(100, "0000644");
  std::snprintf(number, sizeof(number), "%011zo", entry.bytes.size());
  put(124, number);
  put(148, "        ");
  header[156] = static_cast<std::uint8_t>(entry.kind);
  put(257, "ustar");
  put(263, "00");
  unsigned sum = 0;
  for (const std::uint8_t byte : header) sum += byte;
  std::snprintf(number, sizeof(number), "%06o", sum);
  put(148, number);
  header[154] = 0;
  return header;
}

ByteList make_tar(const std::vector<TarEntry>& entries) {
  ByteList tar;
  for (const TarEntry& entry : entries) {
    tar = tar + tar_header(entry) + entry.bytes;
    tar.resize((tar.size() + 511) / 512 * 512);
  }
  tar.resize(tar.size() + 1024);
  return tar;
}

}  // namespace thimble::test
