// A log of one JSON object a line, appended to while training and cut back on resume to the checkpoint's iteration.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "formats/file.h"

namespace thimble {

constexpr Bytes kMaxLineBytes = 64 * kKiB;

struct LogCut {
  std::int64_t lines_kept = 0;
  std::int64_t lines_removed = 0;
  std::int64_t lines_unreadable = 0;  // kept where they stood, and counted in lines_kept
  Bytes bytes_removed = 0;
};

class JsonLinesWriter {
 public:
  // Makes the file if it is absent. A last line without its end, torn by a kill or a power failure, is cut off.
  explicit JsonLinesWriter(const std::string& path);

  // One object, without a line end. Handed to the system at once, so that a killed process loses no line.
  void append(std::string_view object);
  void sync() { thimble::sync(file_); }  // to the disk: before a checkpoint that counts on these lines is published

  // Removes the first line whose "iteration" is above `iteration`, and all that follow.
  LogCut truncate_after(std::int64_t iteration);

 private:
  void cut_torn_line();

  File file_;
  Bytes size_ = 0;
};

}  // namespace thimble
