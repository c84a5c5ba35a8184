#include "data/image_folder.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/file.h"
#include "data/picture.h"
#include "data/picture_folder.h"

namespace thimble {
namespace {

constexpr std::size_t kMostClasses = 65'536;

class ImageFolder : public Dataset {
 public:
  ImageFolder(DatasetInfo info, PictureFolder train, PictureFolder test, std::string scratch_folder)
      : Dataset(std::move(info)),
        train_(std::move(train)),
        test_(std::move(test)),
        scratch_folder_(std::move(scratch_folder)) {}

  std::int32_t read(Split split, std::int64_t index, std::span<std::uint8_t> pixels) const override {
    std::vector<std::byte> workspace(static_cast<std::size_t>(workspace_bytes()));
    return read_framed(split, index, {}, pixels, workspace);
  }

  bool is_framed() const override { return true; }
  Bytes workspace_bytes() const override { return picture_workspace_bytes(info().sample_shape); }

  std::int32_t read_framed(Split split, std::int64_t index, const Framing& framing, std::span<std::uint8_t> pixels,
                           std::span<std::byte> workspace) const override {
    check_read(split, index, pixels);
    const PictureFolder& part = split == Split::train ? train_ : test_;
    const PictureEntry entry = part.index.at(index);
    const std::string& class_name = info().class_names.at(static_cast<std::size_t>(entry.label));
    const InputFile file(join_path(join_path(part.folder, class_name), entry.name));
    read_picture(file, framing, info().sample_shape, pixels, workspace, scratch_folder_);
    return entry.label;
  }

  Bytes resident_bytes() const override { return picture_resident_bytes(info()); }

 private:
  PictureFolder train_, test_;
  std::string scratch_folder_;
};

std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> names;
  for_each_entry(folder, [&](std::string_view name) {
    if (name.starts_with('.') || !is_folder(join_path(folder, std::string(name)))) return;
    require(names.size() < kMostClasses, folder, ": found more than ", kMostClasses, " folders, wanted one a class");
    names.emplace_back(name);
  });
  std::sort(names.begin(), names.end());
  return names;
}

void check_test_classes(const std::string& folder, const std::vector<std::string>& classes) {
  for (const std::string& name : folders_in(folder)) {
    require(std::binary_search(classes.begin(), classes.end(), name), join_path(folder, name),
            ": found a class that train/ does not have, wanted the same classes in both");
  }
}

PictureFolder open_part(std::string folder, const std::vector<std::string>& classes,
                        const std::vector<std::string>& scratch) {
  PictureIndex index(folder, classes, scratch);
  require(index.count() > 0, folder, ": found no pictures, wanted CLASS/NAME.jpg, .jpeg or .png in it");
  return {std::move(folder), std::move(index)};
}

}  // namespace

bool is_image_folder(const std::string& folder) { return is_folder(join_path(folder, "train")); }

std::unique_ptr<Dataset> open_image_folder(const std::string& folder, const ImageFolderOptions& options) {
  check_picture_sample(folder, options.sample);
  const std::string train_folder = join_path(folder, "train"), test_folder = test_folder_of(folder, "CLASS/");
  const std::vector<std::string> classes = folders_in(train_folder);
  require(classes.size() >= 2, train_folder, ": found ", classes.size(), classes.size() == 1 ? " folder" : " folders",
          ", wanted one for each of two classes or more");
  check_test_classes(test_folder, classes);
  const std::vector<std::string> scratch = {folder, options.scratch_folder};
  PictureFolder train = open_part(train_folder, classes, scratch), test = open_part(test_folder, classes, scratch);
  const std::int64_t empty = train.index.first_empty();
  require(empty < 0, join_path(train_folder, classes[static_cast<std::size_t>(std::max<std::int64_t>(empty, 0))]),
          ": found a class without pictures, wanted some in it");
  DatasetInfo info = picture_info(folder, options.sample, train, test);
  info.class_names = classes;
  return std::make_unique<ImageFolder>(std::move(info), std::move(train), std::move(test), options.scratch_folder);
}

}  // namespace thimble
