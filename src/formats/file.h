// Files as descriptors that close themselves. Every failure is a UserError that names the path, what was tried, the
// system's reason and the bytes wanted and done. Knows nothing of what the bytes mean.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/bytes.h"
#include "formats/byte_source.h"

namespace thimble {

class File {
 public:
  File() = default;
  File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File() { close(); }

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }
  void close() noexcept;

 private:
  int descriptor_ = -1;
  std::string path_;
};

// The user's files: regular files only, a symbolic link is followed (caches of weights are full of them).
File open_to_read(const std::string& path);
// Files that we wrote ourselves, checkpoints above all: a symbolic link in their place is refused.
File open_own_to_read(const std::string& path);
File create_new(const std::string& path);          // to write; refused if the name is taken
File open_to_read_write(const std::string& path);  // made if absent, own file: no symbolic link

Bytes size_of(const File& file);
void read_at(const File& file, Bytes offset, std::span<std::byte> out);  // all of `out`, or UserError
void write_at(const File& file, Bytes offset, std::span<const std::byte> bytes);
void resize(const File& file, Bytes size);
void sync(const File& file);  // returns when the bytes are on the disk

ByteSource file_source(const File& file);  // the file must outlive the source

std::string folder_of(const std::string& path);  // "." if the path has no folder
void make_folders(const std::string& path);
void sync_folder(const std::string& path);  // makes created, renamed and removed names of the folder durable
void rename_path(const std::string& from, const std::string& to);

// UserError from errno: "cannot WHAT PATH: REASON", and a hint where the user can do something about it.
[[noreturn]] void fail_io(std::string_view what, std::string_view path, std::string_view details = {});

}  // namespace thimble
