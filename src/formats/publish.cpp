#include "formats/publish.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <random>

#include "base/error.h"

namespace thimble {
namespace {

File create_part(const std::string& path) {
  constexpr int kAttempts =
      16;  // a taken name is chance; sixteen in a row are something else, and the last error says what
  std::random_device random;
  for (int attempt = 1;; ++attempt) {
    char suffix[24];
    std::snprintf(suffix, sizeof(suffix), ".part-%08x", static_cast<unsigned>(random()));
    const std::string part = path + suffix;
    if (attempt == kAttempts || ::access(part.c_str(), F_OK) != 0) return create_new(part);
  }
}

}  // namespace

Publication::Publication(std::string path) : path_(std::move(path)), file_(create_part(path_)) {}

Publication::~Publication() {
  if (file_.is_open()) ::unlink(file_.path().c_str());
}

void Publication::append(std::span<const std::byte> bytes) {
  write_at(file_, size_, bytes);
  size_ += static_cast<Bytes>(bytes.size());
}

void Publication::publish() {
  ensure(file_.is_open(), "publish: ", path_, " was published before");
  sync(file_);
  rename_path(file_.path(), path_);
  file_.close();
  sync_folder(folder_of(path_));
}

}  // namespace thimble
