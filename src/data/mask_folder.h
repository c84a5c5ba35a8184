// Pictures with masks in folders: PATH/train/images/NAME.jpg (or .jpeg, .png) and PATH/train/masks/NAME.png, the same
// in val/ or test/, and PATH/classes.txt, a name for each class, one a line. A mask is a PNG of its picture's size
// whose grey or palette values are classes, counted from 0; both are brought to one size as they are read.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "data/dataset.h"
#include "data/image_folder.h"

namespace thimble {

// What such a folder holds, for messages.
inline constexpr std::string_view kMaskFolderContents =
    "pictures with masks: train/images/*.jpg and train/masks/*.png, the same in val/ or test/, and classes.txt";

bool is_mask_folder(const std::string& folder);  // by the folders `images` and `masks` in its train/

// Names of files are read and sorted now, and every picture must have its mask; both are decoded when they are asked
// for.
std::unique_ptr<Dataset> open_mask_folder(const std::string& folder, const ImageFolderOptions& options);

}  // namespace thimble
