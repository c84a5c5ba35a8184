#include "data/fake_files.h"

#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"

namespace thimble::test {

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "thimble-data-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) fail_internal("no temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const ByteList& bytes) const {
  const std::filesystem::path file = std::filesystem::path(path_) / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return file.string();
}

void TemporaryFolder::remove(const std::string& name) const { std::filesystem::remove(path_ + "/" + name); }

int TemporaryFolder::entry_count() const {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator(path_), {}));
}

ByteList gzip(const ByteList& bytes) {
  z_stream stream{};
  ensure(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY) == Z_OK, "zlib does not start");
  ByteList packed(deflateBound(&stream, bytes.size()));
  ByteList input = bytes;
  stream.next_in = input.data();
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  ensure(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib does not finish");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

ByteList idx_header(std::uint32_t magic, const std::vector<std::uint32_t>& dims) {
  ByteList bytes;
  const auto put = [&](std::uint32_t word) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<std::uint8_t>(word >> shift));
  };
  put(magic);
  for (const std::uint32_t dim : dims) put(dim);
  return bytes;
}

ByteList operator+(ByteList a, const ByteList& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

ByteList cifar_records(std::int64_t first_sample, std::int64_t count) {
  ByteList bytes;
  for (std::int64_t sample = first_sample; sample < first_sample + count; ++sample) {
    bytes.push_back(static_cast<std::uint8_t>(sample % 10));
    for (std::int64_t k = 0; k < 3072; ++k) bytes.push_back(fake_pixel(sample, k));
  }
  return bytes;
}

ByteList idx_images(std::int64_t count, std::uint32_t height, std::uint32_t width) {
  ByteList bytes = idx_header(2051, {static_cast<std::uint32_t>(count), height, width});
  for (std::int64_t sample = 0; sample < count; ++sample) {
    for (std::int64_t k = 0; k < std::int64_t{height} * width; ++k) bytes.push_back(fake_pixel(sample, k));
  }
  return bytes;
}

ByteList idx_labels(std::int64_t count) {
  ByteList bytes = idx_header(2049, {static_cast<std::uint32_t>(count)});
  for (std::int64_t sample = 0; sample < count; ++sample) bytes.push_back(static_cast<std::uint8_t>(sample % 10));
  return bytes;
}

void write_fake_cifar(const TemporaryFolder& folder, const std::string& below) {
  std::int64_t first = 0;
  int number = 1;
  for (const std::int64_t count : {2, 1, 3, 1, 2}) {
    folder.write(below + join_text("data_batch_", number++, ".bin"), cifar_records(first, count));
    first += count;
  }
  folder.write(below + "test_batch.bin", cifar_records(100, kFakeCifarTest));
}

ByteList cifar100_records(std::int64_t first_sample, std::int64_t count) {
  ByteList bytes;
  for (std::int64_t sample = first_sample; sample < first_sample + count; ++sample) {
    bytes.push_back(static_cast<std::uint8_t>(sample % 20));
    bytes.push_back(static_cast<std::uint8_t>(99 - sample));
    for (std::int64_t k = 0; k < 3072; ++k) bytes.push_back(fake_pixel(sample, k));
  }
  return bytes;
}

void write_fake_cifar100(const TemporaryFolder& folder, const std::string& below) {
  folder.write(below + "train.bin", cifar100_records(0, kFakeCifar100Train));
  folder.write(below + "test.bin", cifar100_records(50, kFakeCifar100Test));
}

void write_fake_mnist(const TemporaryFolder& folder, Packing packing, const std::string& below) {
  const auto put = [&](const std::string& name, const ByteList& bytes) {
    if (packing == Packing::gzip) {
      folder.write(below + name + ".gz", gzip(bytes));
    } else {
      folder.write(below + name, bytes);
    }
  };
  put("train-images-idx3-ubyte", idx_images(kFakeMnistTrain, 6, 5));
  put("train-labels-idx1-ubyte", idx_labels(kFakeMnistTrain));
  put("t10k-images-idx3-ubyte", idx_images(kFakeMnistTest, 6, 5));
  put("t10k-labels-idx1-ubyte", idx_labels(kFakeMnistTest));
}

void expect_user_error(const std::function<void()>& action, const std::vector<std::string>& parts) {
  try {
    action();
  } catch (const UserError& error) {
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << "'" << part << "' is not in: " << error.what();
    }
    return;
  }
  ADD_FAILURE() << "no error was raised";
}

}  // namespace thimble::test
