#include "data/mask_folder.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/file.h"
#include "data/mask_picture.h"
#include "data/picture.h"
#include "data/picture_folder.h"

namespace thimble {
namespace {

constexpr std::string_view kClassesFile = "classes.txt", kImages = "images", kMasks = "masks";
constexpr std::size_t kMostClasses = 256;  // a mask has a byte a pixel
constexpr std::int64_t kMostClassesBytes = 64 << 10;

std::string mask_path(const std::string& folder, const std::string& picture) {
  return join_path(join_path(folder, std::string(kMasks)), picture.substr(0, picture.rfind('.')) + ".png");
}

class MaskFolder : public Dataset {
 public:
  MaskFolder(DatasetInfo info, PictureFolder train, PictureFolder test, std::string scratch_folder)
      : Dataset(std::move(info)),
        train_(std::move(train)),
        test_(std::move(test)),
        scratch_folder_(std::move(scratch_folder)) {}

  bool is_framed() const override { return true; }
  Bytes workspace_bytes() const override { return picture_workspace_bytes(info().sample_shape); }
  Bytes resident_bytes() const override { return picture_resident_bytes(info()); }

  void read_masked(Split split, std::int64_t index, const Framing& framing, const MaskedRoom& room) const override {
    check_read_masked(split, index, room);
    const PictureFolder& part = split == Split::train ? train_ : test_;
    const std::string name = part.index.at(index).name;
    const Shape& sample = info().sample_shape;
    const InputFile picture(join_path(join_path(part.folder, std::string(kImages)), name));
    const PictureSize size =
        read_picture(picture, framing, sample, room.pixels, room.workspace, scratch_folder_);  // which is free again
    const InputFile mask(mask_path(part.folder, name));
    read_mask(mask, {.framing = framing, .picture = size, .sample = {sample[0], sample[1]}, .classes = class_count()},
              room.mask, room.workspace);
  }

 private:
  PictureFolder train_, test_;
  std::string scratch_folder_;
};

std::vector<std::string> read_classes(const std::string& path) {
  require(is_file(path), path, ": found no such file, wanted the names of the classes, one a line, first that of 0");
  const InputFile file(path);
  require(file.size() <= kMostClassesBytes, path, ": found ", file.size(), " bytes, wanted at most ",
          kMostClassesBytes);
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read_at(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string name = text.substr(at, end - at);
    if (name.ends_with('\r')) name.pop_back();
    require(!name.empty(), path, ": found nothing in line ", names.size() + 1, ", wanted the name of a class");
    require(std::find(names.begin(), names.end(), name) == names.end(), path, ": found '", name,
            "' twice, wanted a name for each class");
    require(names.size() < kMostClasses, path, ": found more than ", kMostClasses, " classes, wanted at most as many");
    names.push_back(std::move(name));
    at = end + 1;
  }
  require(names.size() >= 2, path, ": found ", names.size(), names.size() == 1 ? " name" : " names",
          ", wanted those of two classes or more");
  return names;
}

PictureFolder open_part(std::string folder, const std::vector<std::string>& scratch) {
  const std::vector<std::string> images = {std::string(kImages)};
  PictureIndex index(folder, images, scratch);
  require(index.count() > 0, folder, ": found no pictures, wanted images/NAME.jpg, .jpeg or .png in it");
  for (std::int64_t i = 0; i < index.count(); ++i) {
    const std::string name = index.at(i).name, mask = mask_path(folder, name);
    require(is_file(mask), mask, ": found no such file, wanted the mask of images/", name);
  }
  return {std::move(folder), std::move(index)};
}

}  // namespace

bool is_mask_folder(const std::string& folder) {
  const std::string train = join_path(folder, "train");
  return is_folder(join_path(train, std::string(kImages))) && is_folder(join_path(train, std::string(kMasks)));
}

std::unique_ptr<Dataset> open_mask_folder(const std::string& folder, const ImageFolderOptions& options) {
  check_picture_sample(folder, options.sample);
  std::vector<std::string> classes = read_classes(join_path(folder, std::string(kClassesFile)));
  const std::string test_folder = test_folder_of(folder, "images/ and masks/");
  const std::vector<std::string> scratch = {folder, options.scratch_folder};
  PictureFolder train = open_part(join_path(folder, "train"), scratch), test = open_part(test_folder, scratch);
  DatasetInfo info = picture_info(folder, options.sample, train, test);
  info.class_names = std::move(classes);
  info.has_masks = true;
  return std::make_unique<MaskFolder>(std::move(info), std::move(train), std::move(test), options.scratch_folder);
}

}  // namespace thimble
