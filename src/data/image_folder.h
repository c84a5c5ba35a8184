// Photographs in folders: PATH/train/CLASS/*.jpg and PATH/val/CLASS/*.jpg (or test/), JPEG and PNG of any size, brought
// to one size as they are read. Classes are numbered in order of their names.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "data/dataset.h"

namespace thimble {

// What such a folder holds, for messages.
inline constexpr std::string_view kImageFolderContents =
    "pictures: train/CLASS/*.jpg and val/CLASS/*.jpg or test/CLASS/*.jpg, .jpeg or .png, a folder for each class";

bool is_image_folder(const std::string& folder);  // by a folder `train` in it

struct ImageFolderOptions {
  Shape sample = {224, 224, 3};         // (H, W, 3), or (H, W, 1) for grey
  std::string scratch_folder = "/tmp";  // takes the list of files where the data's own folder cannot
};

// Names of classes and files are read and sorted now; pictures when they are asked for.
std::unique_ptr<Dataset> open_image_folder(const std::string& folder, const ImageFolderOptions& options);

}  // namespace thimble
