// Sorts any number of short records in bounded memory: pieces that fit are sorted and kept in an unnamed scratch file,
// then merged. What a list of a million files needs to have one order, whatever order the file system names them in.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/file.h"

namespace thimble {

constexpr std::size_t kMostRecordBytes = 1024;

struct SorterLimits {
  std::size_t piece_bytes = std::size_t{128} << 10;
  std::size_t merged_at_once = 32;  // with a buffer each
};

class RecordSorter {
 public:
  // Scratch files go to the first folder that takes one; `purpose` serves messages.
  RecordSorter(std::vector<std::string> scratch_folders, std::string purpose, SorterLimits limits = {});

  void add(std::string_view record);
  // All records in order of their bytes, each behind two bytes of length.
  InputFile finish() &&;

 private:
  struct Piece {
    std::int64_t begin = 0, end = 0;  // in the scratch file
  };

  void write_piece();
  void merge();

  std::vector<std::string> folders_;
  std::string purpose_;
  SorterLimits limits_;
  std::string bytes_;                   // of the piece in memory
  std::vector<std::uint32_t> records_;  // where each begins
  ScratchFile written_;
  std::int64_t written_bytes_ = 0;
  std::vector<Piece> pieces_;
};

// Walks through such records, from a place in the file on, a buffer at a time.
class RecordReader {
 public:
  RecordReader(const InputFile& file, std::int64_t begin, std::int64_t end) : file_(&file), next_(begin), end_(end) {}

  bool advance();                                         // false after the last
  std::string_view record() const { return record_; }     // good until the next advance()
  std::int64_t offset() const { return record_offset_; }  // of its length

 private:
  void fill(std::size_t wanted);

  const InputFile* file_;
  std::int64_t next_, end_;  // of what is not in the buffer
  std::int64_t record_offset_ = 0;
  std::size_t at_ = 0, filled_ = 0;
  std::string_view record_;
  std::array<char, 4096> buffer_;
};

}  // namespace thimble
