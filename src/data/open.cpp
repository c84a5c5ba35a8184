#include "data/open.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"
#include "data/cifar10.h"
#include "data/cifar100.h"
#include "data/file.h"
#include "data/glyphs.h"
#include "data/image_folder.h"
#include "data/mask_folder.h"
#include "data/mnist.h"

namespace thimble {
namespace {

struct OpenArguments {
  std::string folder;
  const OpenOptions& options;
};

// A new data set is one entry in kKinds.
struct Kind {
  std::string_view name;
  std::string_view about;
  std::string_view contents;                // what a folder of it holds, for messages; empty: needs no files
  std::span<const std::string_view> under;  // folders below the root, in order of search
  bool (*is_here)(const std::string& folder) = nullptr;
  std::unique_ptr<Dataset> (*open)(const OpenArguments&) = nullptr;
  bool has_masks = false;

  bool needs_files() const { return is_here != nullptr; }
};

constexpr std::array<std::string_view, 4> kCifar10Folders = {"", "cifar-10-batches-bin", "cifar10",
                                                             "cifar10/cifar-10-batches-bin"};
constexpr std::array<std::string_view, 4> kCifar100Folders = {"", "cifar-100-binary", "cifar100",
                                                              "cifar100/cifar-100-binary"};
constexpr std::array<std::string_view, 3> kMnistFolders = {"", "mnist", "MNIST/raw"};

constinit const std::array<Kind, 5> kKinds = {{
    {.name = "cifar10",
     .about = "CIFAR-10 photographs, 32x32 colour, 10 classes, binary version",
     .contents = "data_batch_1.bin to data_batch_5.bin and test_batch.bin",
     .under = kCifar10Folders,
     .is_here = is_cifar10_folder,
     .open = [](const OpenArguments& arguments) { return open_cifar10(arguments.folder); }},
    {.name = "cifar100",
     .about = "CIFAR-100 photographs, 32x32 colour, 100 classes, binary version",
     .contents = "train.bin and test.bin",
     .under = kCifar100Folders,
     .is_here = is_cifar100_folder,
     .open = [](const OpenArguments& arguments) { return open_cifar100(arguments.folder); }},
    {.name = "mnist",
     .about = "MNIST handwritten digits, 28x28 grey, 10 classes, IDX files, plain or .gz",
     .contents = "train-images-idx3-ubyte, train-labels-idx1-ubyte and their t10k twins, plain or .gz",
     .under = kMnistFolders,
     .is_here = is_mnist_folder,
     .open =
         [](const OpenArguments& arguments) { return open_mnist(arguments.folder, arguments.options.scratch_folder); }},
    {.name = "glyphs",
     .about = "symbols drawn by the program, 32x32 colour, 10 classes; needs no files",
     .contents = "",
     .under = {},
     .is_here = nullptr,
     .open = [](const OpenArguments& arguments) { return open_glyphs({.seed = arguments.options.seed}); }},
    {.name = "glyph-masks",
     .about = "the pictures of glyphs with a class for every pixel, 11 classes: background and the symbols; needs no "
              "files",
     .contents = "",
     .under = {},
     .is_here = nullptr,
     .open = [](const OpenArguments& arguments) { return open_glyph_masks({.seed = arguments.options.seed}); },
     .has_masks = true},
}};

std::vector<std::string> places_of(const Kind& kind, const std::string& root) {
  std::vector<std::string> places;
  if (root.empty()) return places;
  for (const std::string_view folder : kind.under) {
    places.push_back(folder.empty() ? root : join_path(root, std::string(folder)));
  }
  return places;
}

std::string find_folder(const Kind& kind, const std::string& root) {
  const std::vector<std::string> places = places_of(kind, root);
  const auto found = std::find_if(places.begin(), places.end(), kind.is_here);
  return found == places.end() ? std::string() : *found;
}

[[noreturn]] void fail_unknown(std::string_view name) {
  std::vector<std::string> names;
  std::string known;
  for (const Kind& kind : kKinds) {
    names.emplace_back(kind.name);
    known += join_text(known.empty() ? "" : ", ", kind.name);
  }
  const std::string nearest = nearest_word(name, names);
  fail_user(join_text("data set '", name, "' is unknown", nearest.empty() ? "" : "; did you mean '" + nearest + "'?",
                      nearest.empty() ? ". " : " ", "Known: ", known, ", or the path of a folder"));
}

std::unique_ptr<Dataset> open_named(const Kind& kind, const OpenOptions& options) {
  if (!kind.needs_files()) return kind.open({"", options});
  const std::string& root = options.data_root;
  require(!root.empty(), "data set '", kind.name,
          "' is read from files, found no folder for data sets, wanted one that holds ", kind.contents,
          ": set THIMBLE_DATA or give the folder itself");
  const std::string folder = find_folder(kind, root);
  if (folder.empty()) {
    std::string searched;
    for (const std::string& place : places_of(kind, root)) searched += join_text(searched.empty() ? "" : ", ", place);
    fail_user(join_text("data set '", kind.name, "' was not found, wanted ", kind.contents, " in one of: ", searched));
  }
  return kind.open({folder, options});
}

std::unique_ptr<Dataset> open_path(const std::string& path, const OpenOptions& options) {
  require(is_folder(path), path, ": found no such folder, wanted one that holds a data set");
  std::string wanted;
  for (const Kind& kind : kKinds) {
    if (!kind.needs_files()) continue;
    const std::string folder = find_folder(kind, path);
    if (!folder.empty()) return kind.open({folder, options});
    wanted += join_text(kind.name, ": ", kind.contents, "; or ");
  }
  const ImageFolderOptions pictures{options.picture, options.scratch_folder};
  if (is_mask_folder(path)) return open_mask_folder(path, pictures);
  if (is_image_folder(path)) return open_image_folder(path, pictures);
  fail_user(join_text(path, ": found no data set there, wanted ", wanted, kImageFolderContents, "; or ",
                      kMaskFolderContents));
}

}  // namespace

std::unique_ptr<Dataset> open_dataset(std::string_view name_or_path, const OpenOptions& options) {
  for (const Kind& kind : kKinds) {
    if (kind.name == name_or_path) return open_named(kind, options);
  }
  const std::string path(name_or_path);
  if (path.find('/') == std::string::npos && !is_folder(path)) fail_unknown(name_or_path);
  return open_path(path, options);
}

std::vector<DatasetListing> list_datasets(const std::string& data_root) {
  std::vector<DatasetListing> listings;
  for (const Kind& kind : kKinds) {
    const std::string found = kind.needs_files() ? find_folder(kind, data_root) : std::string();
    listings.push_back({.name = kind.name,
                        .about = kind.about,
                        .places = places_of(kind, data_root),
                        .found = found,
                        .is_present = !kind.needs_files() || !found.empty(),
                        .has_masks = kind.has_masks});
  }
  return listings;
}

}  // namespace thimble
