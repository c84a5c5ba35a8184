#include "data/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/nameless_file.h"

namespace thimble {
namespace {

std::string reason_of(int error) { return std::system_category().message(error); }

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}

Descriptor::~Descriptor() {
  if (value_ >= 0) ::close(value_);
}

// O_NONBLOCK: a named pipe in place of the file must fail below, not wait for a writer for ever.
InputFile::InputFile(const std::string& path)
    : InputFile(Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), path) {}

InputFile::InputFile(Descriptor descriptor, std::string path)
    : descriptor_(std::move(descriptor)), path_(std::move(path)) {
  require(descriptor_.is_open(), path_, ": cannot be opened (", reason_of(errno), "), wanted a readable file");
  struct stat status {};
  require(::fstat(descriptor_.get(), &status) == 0, path_, ": ", reason_of(errno));
  require(S_ISREG(status.st_mode), path_, ": found no regular file, wanted one");
  size_ = status.st_size;
  // The system would read megabytes ahead of samples that are drawn at random, and what it is reading it cannot take
  // back: a group near its limit would be killed for it.
  ::posix_fadvise(descriptor_.get(), 0, 0, POSIX_FADV_RANDOM);
}

void InputFile::read_at(std::int64_t offset, std::span<std::uint8_t> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got =
        ::pread(descriptor_.get(), into.data() + done, into.size() - done, offset + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    require(got >= 0, path_, ": reading ", into.size(), " bytes at offset ", offset, " failed: ", reason_of(errno));
    require(got > 0, path_, ": at offset ", offset, " found ", done, " bytes before the end of the file, wanted ",
            into.size());
    done += static_cast<std::size_t>(got);
  }
}

ScratchFile::ScratchFile(std::span<const std::string> folders, std::string purpose) : purpose_(std::move(purpose)) {
  std::string tried;
  for (const std::string& folder : folders) {
    if (folder.empty()) continue;
    descriptor_ = Descriptor(open_nameless(folder));
    if (descriptor_.is_open()) {
      folder_ = folder;
      return;
    }
    tried += join_text(tried.empty() ? "" : ", ", folder, " (", reason_of(errno), ")");
  }
  fail_user(join_text(purpose_, ": wanted a folder for a scratch file, found none that takes one: ", tried));
}

void ScratchFile::append(std::span<const std::uint8_t> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = ::write(descriptor_.get(), bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    require(put > 0, purpose_, ": the scratch file in ", folder_, " took ", written_,
            " bytes and no more: ", reason_of(errno), "; make room there or unpack the file yourself");
    done += static_cast<std::size_t>(put);
    written_ += put;
  }
}

InputFile ScratchFile::finish() && {
  return InputFile(std::move(descriptor_), join_text(purpose_, " (unpacked in ", folder_, ")"));
}

void for_each_entry(const std::string& folder, const std::function<void(std::string_view name)>& call) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  require(entries != nullptr, folder, ": cannot be opened (", reason_of(errno), "), wanted a readable folder");
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") call(name);
  }
  require(errno == 0, folder, ": cannot be read to its end: ", reason_of(errno));
}

bool is_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string join_path(const std::string& folder, const std::string& name) {
  if (folder.empty() || folder.back() == '/') return folder + name;
  return folder + '/' + name;
}

}  // namespace thimble
