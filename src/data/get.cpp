#include "data/get.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "data/file.h"
#include "data/gzip.h"
#include "data/tar.h"
#include "formats/file.h"

namespace thimble {
namespace {

constexpr const char* kToronto = "https://www.cs.toronto.edu/~kriz";
// The original site no longer serves the files; these are the same, on the mirror that PyTorch uses.
constexpr const char* kMnistMirror = "https://ossci-datasets.s3.amazonaws.com/mnist";

// Sizes and sums as published by several independent projects (TensorFlow Datasets, torch-datasets, MLDatasets.jl).
const std::vector<DatasetSource>& sources() {
  static const std::vector<DatasetSource> kSources = {
      {"cifar10",
       kToronto,
       {{"cifar-10-binary.tar.gz", 170'052'171, "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"}},
       "cifar-10-batches-bin"},
      {"cifar100",
       kToronto,
       {{"cifar-100-binary.tar.gz", 168'513'733, "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec"}},
       "cifar-100-binary"},
      {"mnist",
       kMnistMirror,
       {{"train-images-idx3-ubyte.gz", 9'912'422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
        {"train-labels-idx1-ubyte.gz", 28'881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
        {"t10k-images-idx3-ubyte.gz", 1'648'877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
        {"t10k-labels-idx1-ubyte.gz", 4'542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"}},
       "mnist"}};
  return kSources;
}

// Held while this process fetches; a second one is refused instead of writing into the same files.
Descriptor lock_folder(const std::string& folder) {
  Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  require(lock.is_open() && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0, folder,
          ": found another process that fetches into it, wanted to be alone; wait for it");
  return lock;
}

bool is_archive(const RemoteFile& file) { return file.name.ends_with(".tar.gz"); }

// From the archive to a folder beside the final one.
std::string unpack_aside(const DatasetSource& source, const std::string& archive, const std::string& aside) {
  std::filesystem::remove_all(aside);
  make_folders(aside);
  const InputFile file(archive);
  GzipReader reader(file);
  unpack_tar([&](std::span<std::uint8_t> into) { return reader.read(into); }, archive, source.folder, aside);
  sync_folder(aside);
  return aside;
}

}  // namespace

const DatasetSource& find_source(std::string_view name) {
  std::string known;
  for (const DatasetSource& source : sources()) {
    if (source.name == name) return source;
    known += join_text(known.empty() ? "" : ", ", source.name);
  }
  fail_user(join_text("found data set '", name, "', wanted one that can be fetched: ", known));
}

std::string get_dataset(const DatasetSource& source, const GetOptions& options) {
  const std::string target = join_path(options.data_root, source.folder);
  if (is_folder(target)) return target;
  const std::string downloads = target + ".download";
  make_folders(downloads);
  const Descriptor lock = lock_folder(downloads);
  std::string base = options.base_url.empty() ? source.base_url : options.base_url;
  while (base.ends_with('/')) base.pop_back();
  for (const RemoteFile& file : source.files) {
    const std::string url = join_text(base, "/", file.name);
    options.tell(join_text("fetching ", url, " (", to_mib(file.bytes), ")"));
    fetch(url, file, join_path(downloads, file.name), options.fetch);
  }
  if (source.files.size() == 1 && is_archive(source.files.front())) {
    options.tell(join_text("unpacking into ", target));
    rename_path(unpack_aside(source, join_path(downloads, source.files.front().name), target + ".unpacking"), target);
    std::filesystem::remove_all(downloads);
  } else {
    sync_folder(downloads);
    rename_path(downloads, target);
  }
  sync_folder(options.data_root);
  return target;
}

}  // namespace thimble
