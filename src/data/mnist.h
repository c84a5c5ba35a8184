// MNIST and whatever comes in its files and ten classes (Fashion-MNIST, KMNIST): four IDX files, plain or gzip, read by
// position.
#pragma once

#include <memory>
#include <string>

#include "data/dataset.h"

namespace thimble {

bool is_mnist_folder(const std::string& folder);  // by the name of the training images

// Headers, sizes and all labels are checked now. `scratch_folder`: see open_idx.
std::unique_ptr<Dataset> open_mnist(const std::string& folder, const std::string& scratch_folder);

}  // namespace thimble
