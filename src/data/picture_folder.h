// What folders of pictures have in common, whatever their labels are.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "data/dataset.h"
#include "data/picture_index.h"

namespace thimble {

// The folder of a split and the pictures in it.
struct PictureFolder {
  std::string folder;
  PictureIndex index;
};

// val/ or test/; `pictures` says what it should hold, for messages.
std::string test_folder_of(const std::string& folder, std::string_view pictures);

// UserError if no picture can be made a sample of that shape.
void check_picture_sample(const std::string& folder, const Shape& sample);

// All but the classes.
DatasetInfo picture_info(const std::string& folder, const Shape& sample, const PictureFolder& train,
                         const PictureFolder& test);

// What decoding holds beside workspaces: code, and the names of classes.
Bytes picture_resident_bytes(const DatasetInfo& info);

}  // namespace thimble
