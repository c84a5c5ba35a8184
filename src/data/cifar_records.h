// The binary files of CIFAR-10 and CIFAR-100: records of one or two label bytes and 3,072 bytes of 32x32 pixels, a
// plane a colour. One positioned read a sample. Knows nothing of class names and folders.
#pragma once

#include <memory>
#include <vector>

#include "data/dataset.h"
#include "data/file.h"

namespace thimble {

struct CifarRecord {
  std::int64_t label_bytes = 1;  // before the pixels
  std::int64_t label_at = 0;     // which of them is the label
};

// `info` needs name, classes, mean and deviation: shape and counts follow from the files, whose sizes are checked now;
// labels are checked when read.
std::unique_ptr<Dataset> open_cifar_records(DatasetInfo info, CifarRecord record, std::vector<InputFile> train,
                                            InputFile test);

}  // namespace thimble
