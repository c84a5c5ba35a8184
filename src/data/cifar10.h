// CIFAR-10 in its binary version: five training files and one test file, one label a record.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/file.h"

namespace thimble {

bool is_cifar10_folder(const std::string& folder);  // by the name of the first training file

// The folder that holds the six files. Sizes are checked now, labels when read.
std::unique_ptr<Dataset> open_cifar10(const std::string& folder);

// The same from files already open, in order: what the fuzz target calls.
std::unique_ptr<Dataset> open_cifar10(std::vector<InputFile> train, InputFile test);

}  // namespace thimble
