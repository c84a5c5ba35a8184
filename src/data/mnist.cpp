#include "data/mnist.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "data/idx.h"

namespace thimble {
namespace {

constexpr std::int64_t kClasses = 10;

struct Part {
  IdxArray images;
  IdxArray labels;
};

// The official names, and those of some mirrors with a dot for the hyphen; compressed or not.
std::string find_file(const std::string& folder, const std::string& stem, const std::string& ending) {
  for (const char* joint : {"-", "."}) {
    for (const char* packing : {"", ".gz"}) {
      const std::string path = join_path(folder, stem + joint + ending + packing);
      if (is_file(path)) return path;
    }
  }
  return {};
}

InputFile open_file(const std::string& folder, const std::string& stem, const std::string& ending) {
  const std::string path = find_file(folder, stem, ending);
  require(!path.empty(), folder, ": found no ", stem, "-", ending, ", plain or .gz, wanted one");
  return InputFile(path);
}

void check_labels(const IdxArray& labels) {
  std::array<std::uint8_t, 4096> piece;
  for (std::int64_t first = 0; first < labels.count; first += static_cast<std::int64_t>(piece.size())) {
    const auto size = std::min(labels.count - first, static_cast<std::int64_t>(piece.size()));
    const auto part = std::span(piece).first(static_cast<std::size_t>(size));
    labels.file.read_at(labels.item_offset(first), part);
    const auto bad = std::find_if(part.begin(), part.end(), [](std::uint8_t label) { return label >= kClasses; });
    require(bad == part.end(), labels.file.path(), ": item ", first + (bad - part.begin()), " found label ",
            bad == part.end() ? 0 : *bad, ", wanted 0 to ", kClasses - 1);
  }
}

Part open_part(const std::string& folder, const std::string& stem, const std::string& scratch_folder) {
  Part part{open_idx(open_file(folder, stem + "-images", "idx3-ubyte"), 3, scratch_folder),
            open_idx(open_file(folder, stem + "-labels", "idx1-ubyte"), 1, scratch_folder)};
  require(part.images.count == part.labels.count, part.labels.file.path(), ": found ", part.labels.count,
          " labels, wanted ", part.images.count, ", as many as there are images");
  check_labels(part.labels);
  return part;
}

class Mnist : public Dataset {
 public:
  Mnist(DatasetInfo info, Part train, Part test)
      : Dataset(std::move(info)), train_(std::move(train)), test_(std::move(test)) {}

  std::int32_t read(Split split, std::int64_t index, std::span<std::uint8_t> pixels) const override {
    check_read(split, index, pixels);
    const Part& part = split == Split::train ? train_ : test_;
    part.images.file.read_at(part.images.item_offset(index), pixels);
    std::uint8_t label = 0;
    part.labels.file.read_at(part.labels.item_offset(index), {&label, 1});
    // Checked when opened; the file may have changed since.
    require(label < kClasses, part.labels.file.path(), ": item ", index, " found label ", label, ", wanted 0 to ",
            kClasses - 1);
    return label;
  }

 private:
  Part train_;
  Part test_;
};

}  // namespace

bool is_mnist_folder(const std::string& folder) { return !find_file(folder, "train-images", "idx3-ubyte").empty(); }

std::unique_ptr<Dataset> open_mnist(const std::string& folder, const std::string& scratch_folder) {
  Part train = open_part(folder, "train", scratch_folder);
  Part test = open_part(folder, "t10k", scratch_folder);
  const Shape image = train.images.item_shape;
  require(test.images.item_shape == image, test.images.file.path(), ": found images of ",
          to_text(test.images.item_shape), ", wanted ", to_text(image), " as in the training files");
  DatasetInfo info{.name = "mnist",
                   .sample_shape = {image[0], image[1], 1},
                   .class_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
                   .train_count = train.images.count,
                   .test_count = test.images.count,
                   .mean = {0.1307F},
                   .deviation = {0.3081F}};
  return std::make_unique<Mnist>(std::move(info), std::move(train), std::move(test));
}

}  // namespace thimble
