#include "data/picture_index.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "base/random.h"

namespace thimble {
namespace {

constexpr std::size_t kLabelBytes = 4;
constexpr std::array<std::string_view, 3> kRead = {"jpg", "jpeg", "png"};
constexpr std::array<std::string_view, 12> kOther = {"bmp", "gif",  "webp", "tif",  "tiff", "jp2",
                                                     "jxl", "avif", "heic", "heif", "ppm",  "tga"};

std::string ending_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  std::string ending(dot == std::string_view::npos ? "" : name.substr(dot + 1));
  for (char& letter : ending) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return ending;
}

template <typename List>
bool holds(const List& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_picture(const std::string& folder, std::string_view name) {
  if (name.starts_with('.')) return false;
  const std::string ending = ending_of(name);
  require(!holds(kOther, ending), join_path(folder, std::string(name)), ": found a picture of kind ", ending,
          ", wanted .jpg, .jpeg or .png: convert it or take it away");
  return holds(kRead, ending);
}

// High byte first, so that labels sort as numbers do.
std::string entry_record(std::int64_t label, std::string_view name) {
  std::string record;
  for (const int shift : {24, 16, 8, 0}) record.push_back(static_cast<char>(label >> shift));
  return record.append(name);
}

std::int32_t label_of(std::string_view record) {
  std::uint32_t label = 0;
  for (std::size_t i = 0; i < kLabelBytes; ++i) label = label << 8 | static_cast<std::uint8_t>(record[i]);
  return static_cast<std::int32_t>(label);
}

InputFile sort_entries(const std::string& folder, std::span<const std::string> classes,
                       const std::vector<std::string>& scratch_folders, const SorterLimits& limits,
                       std::int64_t& first_empty) {
  RecordSorter sorter(scratch_folders, folder, limits);
  for (std::size_t label = 0; label < classes.size(); ++label) {
    const std::string class_folder = join_path(folder, classes[label]);
    bool is_empty = true;
    if (is_folder(class_folder)) {
      for_each_entry(class_folder, [&](std::string_view name) {
        if (!is_picture(class_folder, name)) return;
        sorter.add(entry_record(static_cast<std::int64_t>(label), name));
        is_empty = false;
      });
    }
    if (is_empty && first_empty < 0) first_empty = static_cast<std::int64_t>(label);
  }
  return std::move(sorter).finish();
}

}  // namespace

PictureIndex::PictureIndex(const std::string& folder, std::span<const std::string> classes,
                           const std::vector<std::string>& scratch_folders, SorterLimits limits)
    : entries_(sort_entries(folder, classes, scratch_folders, limits, first_empty_)),
      places_(write_places(scratch_folders, folder)) {}

InputFile PictureIndex::write_places(const std::vector<std::string>& scratch_folders, const std::string& folder) {
  ScratchFile places(scratch_folders, folder);
  std::array<std::uint8_t, 512 * kPlaceBytes> buffer;
  std::size_t used = 0;
  RecordReader reader(entries_, 0, entries_.size());
  while (reader.advance()) {
    hash_ = hash_ * 0x9E3779B97F4A7C15U + hash_text(reader.record().data(), reader.record().size());
    const std::int64_t offset = reader.offset();
    std::memcpy(buffer.data() + used, &offset, kPlaceBytes);
    used += kPlaceBytes;
    if (used < buffer.size()) continue;
    places.append(buffer);
    used = 0;
  }
  places.append(std::span(buffer).first(used));
  return std::move(places).finish();
}

PictureEntry PictureIndex::at(std::int64_t index) const {
  std::int64_t offset = 0;
  places_.read_at(index * kPlaceBytes, {reinterpret_cast<std::uint8_t*>(&offset), kPlaceBytes});
  RecordReader reader(entries_, offset, entries_.size());
  ensure(reader.advance() && reader.record().size() > kLabelBytes, entries_.path(), ": no entry ", index);
  return {label_of(reader.record()), std::string(reader.record().substr(kLabelBytes))};
}

}  // namespace thimble
