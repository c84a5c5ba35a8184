#include "data/cifar10.h"

#include <utility>

#include "base/error.h"
#include "data/cifar_records.h"

namespace thimble {
namespace {

constexpr int kTrainFiles = 5;

std::string train_name(int number) { return join_text("data_batch_", number, ".bin"); }

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
      .sample_shape = {},
      .class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
      .mean = {125.3F / 255, 123.0F / 255, 113.9F / 255},
      .deviation = {63.0F / 255, 62.1F / 255, 66.7F / 255}};
  return open_cifar_records(std::move(info), {.label_bytes = 1, .label_at = 0}, std::move(train), std::move(test));
}

}  // namespace thimble
