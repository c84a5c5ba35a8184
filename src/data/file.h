// Files of data sets: read by position in small pieces, never mapped or held; and scratch files that no name points to.
// Every failure is a UserError that names the file, the offset, the found and the wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thimble {

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(other.value_) { other.value_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int get() const { return value_; }
  bool is_open() const { return value_ >= 0; }

 private:
  int value_;
};

class InputFile {
 public:
  explicit InputFile(const std::string& path);         // must be a regular file
  InputFile(Descriptor descriptor, std::string path);  // an open one; the path serves messages only

  const std::string& path() const { return path_; }
  std::int64_t size() const { return size_; }  // when it was opened
  // Fills all of `into` or fails, as when the file has shrunk since. May be called from several threads at once.
  void read_at(std::int64_t offset, std::span<std::uint8_t> into) const;

 private:
  Descriptor descriptor_;
  std::string path_;
  std::int64_t size_ = 0;
};

// A file without a name, written front to back.
class ScratchFile {
 public:
  // In the first folder that takes one; `purpose` serves messages.
  ScratchFile(std::span<const std::string> folders, std::string purpose);

  void append(std::span<const std::uint8_t> bytes);
  InputFile finish() &&;  // the same file for reading

 private:
  Descriptor descriptor_{-1};
  std::string purpose_;
  std::string folder_;
  std::int64_t written_ = 0;
};

// Calls for the name of everything in the folder but "." and "..", in whatever order the system has it.
void for_each_entry(const std::string& folder, const std::function<void(std::string_view name)>& call);

bool is_file(const std::string& path);
bool is_folder(const std::string& path);
std::string join_path(const std::string& folder, const std::string& name);

}  // namespace thimble
