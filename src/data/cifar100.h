// CIFAR-100 in its binary version: train.bin and test.bin, two labels a record, of which the second, the fine one of
// 100 classes, is used.
#pragma once

#include <memory>
#include <string>

#include "data/dataset.h"
#include "data/file.h"

namespace thimble {

bool is_cifar100_folder(const std::string& folder);  // by the names of both files

// The folder that holds the two files. Sizes are checked now, labels when read.
std::unique_ptr<Dataset> open_cifar100(const std::string& folder);

// The same from files already open: what the fuzz target calls.
std::unique_ptr<Dataset> open_cifar100(InputFile train, InputFile test);

}  // namespace thimble
