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

struct OpenOptions {
  std::string data_root = {};           // where known names are looked for; may be empty
  std::uint64_t seed = 0;               // of data sets that are drawn
  std::string scratch_folder = "/tmp";  // takes what the data's own folder cannot
  Shape picture = {224, 224, 3};        // size of a sample, for pictures of many sizes; other data say it themselves
};

// A known name or the path of a folder, whose contents say what it is. Known names win: write ./mnist for a folder of
// that name. UserError lists the places searched, or the nearest name.
std::unique_ptr<Dataset> open_dataset(std::string_view name_or_path, const OpenOptions& options);

struct DatasetListing {
  std::string_view name;
  std::string_view about;
  std::vector<std::string> places;  // searched in this order; empty: needs no files, or there is no root
  std::string found;                // the folder that would be opened; empty if there is none
  bool is_present = false;
  bool has_masks = false;  // as in DatasetInfo
};

std::vector<DatasetListing> list_datasets(const std::string& data_root);

}  // namespace thimble
