// The pictures of one split of an image folder, in order of class and name, kept in unnamed scratch files: a million of
// them take no memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/file.h"
#include "data/record_sorter.h"

namespace thimble {

struct PictureEntry {
  std::int32_t label = 0;
  std::string name;  // within its class folder
};

class PictureIndex {
 public:
  // Looks through folder/CLASS for every class in `classes`; a class need not have a folder here. Files count by their
  // endings: .jpg, .jpeg, .png in any case; pictures of other kinds are refused, hidden and other files passed over.
  PictureIndex(const std::string& folder, std::span<const std::string> classes,
               const std::vector<std::string>& scratch_folders, SorterLimits limits = {});

  std::int64_t count() const { return places_.size() / kPlaceBytes; }
  PictureEntry at(std::int64_t index) const;
  std::int64_t first_empty() const { return first_empty_; }  // the first class without pictures; -1: there is none
  std::uint64_t hash() const { return hash_; }               // of all labels and names

 private:
  static constexpr std::int64_t kPlaceBytes = 8;

  InputFile write_places(const std::vector<std::string>& scratch_folders, const std::string& folder);

  std::int64_t first_empty_ = -1;
  std::uint64_t hash_ = 0;
  InputFile entries_;  // records of the label, high byte first, and the name
  InputFile places_;   // where each begins
};

}  // namespace thimble
