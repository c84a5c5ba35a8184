// CIFAR-10 in its binary version: five training files and one test file of records, each one label byte and 3,072 bytes
// of 32x32 pixels, a plane a colour. One positioned read a sample.
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
