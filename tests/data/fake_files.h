// Small files for the tests of readers: a folder that cleans up after itself, and bytes in the formats of CIFAR and
// MNIST.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace thimble::test {

using ByteList = std::vector<std::uint8_t>;

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string write(const std::string& name,
                    const ByteList& bytes) const;  // makes folders in between; returns the path
  void remove(const std::string& name) const;
  int entry_count() const;

 private:
  std::string path_;
};

ByteList gzip(const ByteList& bytes);
ByteList idx_header(std::uint32_t magic, const std::vector<std::uint32_t>& dims);
ByteList operator+(ByteList a, const ByteList& b);

// Byte k of sample i of a fake file; any function that differs from place to place.
constexpr std::uint8_t fake_pixel(std::int64_t sample, std::int64_t k) {
  return static_cast<std::uint8_t>(sample * 31 + k * 7 + k / 256);
}

ByteList cifar_records(std::int64_t first_sample, std::int64_t count);  // label of sample i is i % 10
ByteList idx_images(std::int64_t count, std::uint32_t height, std::uint32_t width);
ByteList idx_labels(std::int64_t count);

// Six CIFAR files with 2, 1, 3, 1, 2 training and 4 test samples; training samples are numbered through, test samples
// from 100 on.
constexpr std::int64_t kFakeCifarTrain = 9, kFakeCifarTest = 4;
void write_fake_cifar(const TemporaryFolder& folder, const std::string& below = "");

// train.bin and test.bin of CIFAR-100: sample i has the coarse label i % 20 and the fine label 99 - i.
constexpr std::int64_t kFakeCifar100Train = 5, kFakeCifar100Test = 3;
ByteList cifar100_records(std::int64_t first_sample, std::int64_t count);
void write_fake_cifar100(const TemporaryFolder& folder, const std::string& below = "");

// Four MNIST files of 7 and 3 samples, 6x5 pixels; gzip with endings in .gz, or plain.
enum class Packing : std::uint8_t { plain, gzip };
constexpr std::int64_t kFakeMnistTrain = 7, kFakeMnistTest = 3;
void write_fake_mnist(const TemporaryFolder& folder, Packing packing, const std::string& below = "");

// The message of the UserError that `action` must throw; fails the test if it throws none or if a part is missing from
// it.
void expect_user_error(const std::function<void()>& action, const std::vector<std::string>& parts);

}  // namespace thimble::test
