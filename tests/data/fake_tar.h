// Tar archives for the tests of unpacking, sound or not.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "data/fake_files.h"

namespace thimble::test {

struct TarEntry {
  std::string path;
  ByteList bytes;
  char kind = '0';
};

ByteList tar_header(const TarEntry& entry);
ByteList make_tar(const std::vector<TarEntry>& entries);  // with the two blocks of zeros at the end

}  // namespace thimble::test
