#include "data/cifar_records.h"

#include <array>
#include <utility>

#include "base/error.h"

namespace thimble {
namespace {

constexpr std::int64_t kSide = 32, kChannels = 3;
constexpr std::int64_t kPlane = kSide * kSide;
constexpr std::int64_t kPixelBytes = kChannels * kPlane;
constexpr std::int64_t kMostLabelBytes = 2;

std::int64_t record_count(const InputFile& file, const CifarRecord& record) {
  const std::int64_t bytes = record.label_bytes + kPixelBytes;
  require(file.size() > 0 && file.size() % bytes == 0, file.path(), ": found ", file.size(),
          " bytes, wanted a multiple of ", bytes, " (", record.label_bytes,
          record.label_bytes == 1 ? " label and " : " labels and ", kPixelBytes, " pixels a record)");
  return file.size() / bytes;
}

class CifarFiles : public Dataset {
 public:
  CifarFiles(DatasetInfo info, CifarRecord record, std::vector<InputFile> train, InputFile test)
      : Dataset(std::move(info)), record_(record), train_(std::move(train)), test_(std::move(test)) {}

  std::int32_t read(Split split, std::int64_t index, std::span<std::uint8_t> pixels) const override {
    check_read(split, index, pixels);
    const std::int64_t record_bytes = record_.label_bytes + kPixelBytes;
    const InputFile* file = &test_;
    if (split == Split::train) {
      file = train_.data();
      while (index * record_bytes >= file->size()) index -= (file++)->size() / record_bytes;
    }
    std::array<std::uint8_t, kMostLabelBytes + kPixelBytes> buffer;
    const auto bytes = std::span(buffer).first(static_cast<std::size_t>(record_bytes));
    const std::int64_t offset = index * record_bytes;
    file->read_at(offset, bytes);
    const std::uint8_t label = bytes[static_cast<std::size_t>(record_.label_at)];
    require(label < class_count(), file->path(), ": at offset ", offset + record_.label_at, " found label ", label,
            ", wanted 0 to ", class_count() - 1);
    interleave(bytes.subspan(static_cast<std::size_t>(record_.label_bytes)), pixels);
    return label;
  }

 private:
  static void interleave(std::span<const std::uint8_t> planes, std::span<std::uint8_t> pixels) {
    for (std::int64_t pixel = 0; pixel < kPlane; ++pixel) {
      for (std::int64_t channel = 0; channel < kChannels; ++channel) {
        pixels[static_cast<std::size_t>(pixel * kChannels + channel)] =
            planes[static_cast<std::size_t>(channel * kPlane + pixel)];
      }
    }
  }

  CifarRecord record_;
  std::vector<InputFile> train_;
  InputFile test_;
};

}  // namespace

std::unique_ptr<Dataset> open_cifar_records(DatasetInfo info, CifarRecord record, std::vector<InputFile> train,
                                            InputFile test) {
  ensure(record.label_bytes >= 1 && record.label_bytes <= kMostLabelBytes && record.label_at >= 0 &&
             record.label_at < record.label_bytes,
         info.name, ": label ", record.label_at, " of ", record.label_bytes);
  info.sample_shape = {kSide, kSide, kChannels};
  info.test_count = record_count(test, record);
  for (const InputFile& file : train) info.train_count += record_count(file, record);
  return std::make_unique<CifarFiles>(std::move(info), record, std::move(train), std::move(test));
}

}  // namespace thimble
