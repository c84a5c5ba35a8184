// IDX, the format of MNIST: a magic number, the dimensions, then bytes; plain or gzip. Nothing the header says is
// believed before the size of the file bears it out.
#pragma once

#include <cstdint>
#include <string>

#include "base/shape.h"
#include "data/file.h"

namespace thimble {

// `count` items of unsigned bytes, each of `item_shape`, one after another from `offset` on.
struct IdxArray {
  InputFile file;
  std::int64_t offset = 0;
  std::int64_t count = 0;
  Shape item_shape;  // () for labels, (H, W) for images

  std::int64_t item_offset(std::int64_t index) const { return offset + index * item_shape.count(); }
};

// `rank` is that of the whole array: 1 for labels, 3 for images. A compressed file is unpacked once, in small pieces,
// to an unnamed file beside it or, where that folder takes none, in `scratch_folder`; it never grows beyond what its
// header states.
IdxArray open_idx(InputFile file, int rank, const std::string& scratch_folder);

}  // namespace thimble
