// Data sets by name or by folder, and what there is to choose from. Reads no environment: the caller says where data
// sets live.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace thimble {

// A known name (looked for under data_root, which may be empty) or the path of a folder, whose contents say what it is.
// Known names win: write
// ./mnist for a folder of that name. `seed` is for data sets that are drawn. `scratch_folder` takes unpacked copies
// where the data's own folder cannot. UserError lists the places searched, or the nearest name.
std::unique_ptr<Dataset> open_dataset(std::string_view name_or_path, const std::string& data_root,
                                      std::uint64_t seed = 0, const std::string& scratch_folder = "/tmp");

struct DatasetListing {
  std::string_view name;
  std::string_view about;
  std::vector<std::string> places;  // searched in this order; empty: needs no files, or there is no root
  std::string found;                // the folder that would be opened; empty if there is none
  bool is_present = false;
};

std::vector<DatasetListing> list_datasets(const std::string& data_root);

}  // namespace thimble
