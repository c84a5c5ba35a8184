#include "data/cifar10.h"

#include <array>
#include <utility>

#include "base/error.h"

namespace thimble {
namespace {

constexpr std::int64_t kSide = 32, kChannels = 3;
constexpr std::int64_t kPlane = kSide * kSide;
constexpr std::int64_t kRecordBytes = 1 + kChannels * kPlane;
constexpr int kTrainFiles = 5;

std::string train_name(int number) { return join_text("data_batch_", number, ".bin"); }

std::int64_t record_count(const InputFile& file) {
  require(file.size() > 0 && file.size() % kRecordBytes == 0, file.path(), ": found ", file.size(),
          " bytes, wanted a multiple of ", kRecordBytes, " (1 label and ", kRecordBytes - 1, " pixels a record)");
  return file.size() / kRecordBytes;
}

class Cifar10 : public Dataset {
 public:
  Cifar10(DatasetInfo info, std::vector<InputFile> train, InputFile test)
      : Dataset(std::move(info)), train_(std::move(train)), test_(std::move(test)) {}

  std::int32_t read(Split split, std::int64_t index, std::span<std::uint8_t> pixels) const override {
    check_read(split, index, pixels);
    const InputFile* file = &test_;
    if (split == Split::train) {
      file = train_.data();
      while (index * kRecordBytes >= file->size()) index -= (file++)->size() / kRecordBytes;
    }
    std::array<std::uint8_t, kRecordBytes> record;
    file->read_at(index * kRecordBytes, record);
    require(record[0] < class_count(), file->path(), ": at offset ", index * kRecordBytes, " found label ", record[0],
            ", wanted 0 to ", class_count() - 1);
    for (std::int64_t pixel = 0; pixel < kPlane; ++pixel) {
      for (std::int64_t channel = 0; channel < kChannels; ++channel) {
        pixels[static_cast<std::size_t>(pixel * kChannels + channel)] =
            record[static_cast<std::size_t>(1 + channel * kPlane + pixel)];
      }
    }
    return record[0];
  }

 private:
  std::vector<InputFile> train_;
  InputFile test_;
};

}  // namespace

bool is_cifar10_folder(const std::string& folder) { return is_file(join_path(folder, train_name(1))); }

std::unique_ptr<Dataset> open_cifar10(const std::string& folder) {
  std::vector<InputFile> train;
  for (int number = 1; number <= kTrainFiles; ++number) train.emplace_back(join_path(folder, train_name(number)));
  return open_cifar10(std::move(train), InputFile(join_path(folder, "test_batch.bin")));
}

std::unique_ptr<Dataset> open_cifar10(std::vector<InputFile> train, InputFile test) {
  DatasetInfo info{
      .name = "cifar10",
      .sample_shape = {kSide, kSide, kChannels},
      .class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
      .test_count = record_count(test),
      .mean = {125.3F / 255, 123.0F / 255, 113.9F / 255},
      .deviation = {63.0F / 255, 62.1F / 255, 66.7F / 255}};
  for (const InputFile& file : train) info.train_count += record_count(file);
  return std::make_unique<Cifar10>(std::move(info), std::move(train), std::move(test));
}

}  // namespace thimble
