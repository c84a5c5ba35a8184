#include "formats/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace thimble {
namespace {

constexpr mode_t kFileMode = 0666;  // less the user's umask

std::string_view hint_for(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT: return "; free some space or choose another folder";
    case EFBIG: return "; a file size limit is in force (ulimit -f)";
    case EACCES:
    case EPERM:
    case EROFS: return "; choose a folder that you may write to, or a file that you may read";
    case ELOOP: return "; a symbolic link is not accepted here";
    default: return "";
  }
}

template <typename Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

File open_file(const std::string& path, int flags, std::string_view what) {
  // O_NONBLOCK: opening a pipe must be refused below, not wait for a writer that never comes.
  const int descriptor =
      retry_interrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, kFileMode); });
  if (descriptor < 0) fail_io(what, path);
  File file(descriptor, path);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail_io("inspect", path);
  require(S_ISREG(status.st_mode), "cannot ", what, " ", path, ": it is not a regular file");
  return file;
}

std::string progress(Bytes wanted, Bytes done, Bytes offset) {
  return join_text(" (wanted ", wanted, " bytes at offset ", offset, ", done ", done, ")");
}

}  // namespace

void fail_io(std::string_view what, std::string_view path, std::string_view details) {
  const int code = errno;
  fail_user(
      join_text("cannot ", what, " ", path, ": ", std::generic_category().message(code), details, hint_for(code)));
}

File::File(File&& other) noexcept : descriptor_(other.descriptor_), path_(std::move(other.path_)) {
  other.descriptor_ = -1;
}

File& File::operator=(File&& other) noexcept {
  if (this == &other) return *this;
  close();
  descriptor_ = other.descriptor_;
  path_ = std::move(other.path_);
  other.descriptor_ = -1;
  return *this;
}

void File::close() noexcept {
  // Errors of writing have been reported by sync(), which every writer calls; close has nothing to add.
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

File open_to_read(const std::string& path) { return open_file(path, O_RDONLY, "read"); }
File open_own_to_read(const std::string& path) { return open_file(path, O_RDONLY | O_NOFOLLOW, "read"); }
File create_new(const std::string& path) { return open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, "create"); }
File open_to_read_write(const std::string& path) { return open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW, "write"); }

Bytes size_of(const File& file) {
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) fail_io("inspect", file.path());
  return status.st_size;
}

void read_at(const File& file, Bytes offset, std::span<std::byte> out) {
  const Bytes wanted = static_cast<Bytes>(out.size());
  for (Bytes done = 0; done < wanted;) {
    const ssize_t count = retry_interrupted([&] {
      return ::pread(file.descriptor(), out.data() + done, static_cast<std::size_t>(wanted - done), offset + done);
    });
    if (count < 0) fail_io("read", file.path(), progress(wanted, done, offset));
    require(count > 0, "cannot read ", file.path(), ": the file ends early", progress(wanted, done, offset));
    done += count;
  }
}

void write_at(const File& file, Bytes offset, std::span<const std::byte> bytes) {
  const Bytes wanted = static_cast<Bytes>(bytes.size());
  for (Bytes done = 0; done < wanted;) {
    const ssize_t count = retry_interrupted([&] {
      return ::pwrite(file.descriptor(), bytes.data() + done, static_cast<std::size_t>(wanted - done), offset + done);
    });
    if (count < 0) fail_io("write", file.path(), progress(wanted, done, offset));
    require(count > 0, "cannot write ", file.path(), ": nothing was taken", progress(wanted, done, offset));
    done += count;
  }
}

void resize(const File& file, Bytes size) {
  const int result = retry_interrupted([&] { return ::ftruncate(file.descriptor(), size); });
  if (result != 0) fail_io("resize", file.path(), join_text(" (wanted ", size, " bytes)"));
}

void sync(const File& file) {
  if (retry_interrupted([&] { return ::fsync(file.descriptor()); }) != 0) fail_io("bring to disk", file.path());
}

ByteSource file_source(const File& file) {
  return {.name = file.path(), .size = size_of(file), .read = [&file](Bytes offset, std::span<std::byte> out) {
            read_at(file, offset, out);
          }};
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

void make_folders(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return;
  const std::string parent = folder_of(path);
  if (parent != path) make_folders(parent);
  constexpr mode_t kFolderMode = 0777;  // less the user's umask
  const bool is_made = ::mkdir(path.c_str(), kFolderMode) == 0;
  if (!is_made && errno == EEXIST && std::filesystem::is_directory(path, ignored))
    return;  // someone was faster, or "a/"
  require(is_made || errno != EEXIST, "cannot make folder ", path, ": there is a file of that name");
  if (!is_made) fail_io("make folder", path);
  sync_folder(parent);
}

void sync_folder(const std::string& path) {
  const int descriptor = retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (descriptor < 0) fail_io("open folder", path);
  const File folder(descriptor, path);
  // EINVAL: this file system has no such thing as syncing a folder, and its names are as durable as it makes them.
  const int result = retry_interrupted([&] { return ::fsync(descriptor); });
  if (result != 0 && errno != EINVAL) fail_io("bring to disk", path);
}

void rename_path(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) fail_io("rename", from, join_text(" (to ", to, ")"));
}

}  // namespace thimble
