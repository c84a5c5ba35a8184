#include "data/picture_folder.h"

#include <cinttypes>
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "data/file.h"

namespace thimble {
namespace {

// libjpeg's, libpng's and zlib's pages, and what the first pictures leave on the heap; measured, see
// docs/decisions/image_libraries.md.
constexpr Bytes kDecoderCodeBytes = kMiB;
// The mean and deviation of ImageNet, which pretrained weights expect; grey by the weights of its conversion.
constexpr float kMean[] = {0.485F, 0.456F, 0.406F}, kDeviation[] = {0.229F, 0.224F, 0.225F};
constexpr float kGreyMean = 0.459F, kGreyDeviation = 0.226F;

std::string name_of_folder(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::absolute(folder).lexically_normal();
  return (path.has_filename() ? path.filename() : path.parent_path().filename()).string();
}

}  // namespace

std::string test_folder_of(const std::string& folder, std::string_view pictures) {
  for (const char* name : {"val", "test"}) {
    if (is_folder(join_path(folder, name))) return join_path(folder, name);
  }
  fail_user(join_text(folder, ": found train/ but neither val/ nor test/, wanted pictures to evaluate with in val/",
                      pictures, " or test/", pictures));
}

DatasetInfo picture_info(const std::string& folder, const Shape& sample, const PictureFolder& train,
                         const PictureFolder& test) {
  DatasetInfo info{.name = name_of_folder(folder),
                   .sample_shape = sample,
                   .class_names = {},
                   .train_count = train.index.count(),
                   .test_count = test.index.count(),
                   .mean = {std::begin(kMean), std::end(kMean)},
                   .deviation = {std::begin(kDeviation), std::end(kDeviation)}};
  char contents[17];
  std::snprintf(contents, sizeof(contents), "%016" PRIx64, train.index.hash() * 31 + test.index.hash());
  info.contents = contents;
  if (sample[2] == 1) info.mean = {kGreyMean}, info.deviation = {kGreyDeviation};
  return info;
}

void check_picture_sample(const std::string& folder, const Shape& sample) {
  require(sample.rank() == 3 && (sample[2] == 1 || sample[2] == 3), folder, ": found a sample of ", to_text(sample),
          ", wanted height, width and 3 channels, or 1 for grey");
}

Bytes picture_resident_bytes(const DatasetInfo& info) {
  Bytes names = 0;
  for (const std::string& name : info.class_names) names += static_cast<Bytes>(sizeof(name) + name.capacity() + 1);
  return kDecoderCodeBytes + names;
}

}  // namespace thimble
