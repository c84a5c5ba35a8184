// Reads a gzip file from front to back through two small buffers, with its checksum checked at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "data/file.h"

namespace thimble {

bool is_gzip(const InputFile& file);  // by its first two bytes

class GzipReader {
 public:
  explicit GzipReader(const InputFile& file);  // the file must outlive the reader
  ~GzipReader();

  // Fills `into` from the stream and returns how many bytes there were: fewer than asked for only at its end. UserError
  // for damage, for an end inside the stream and for bytes behind it.
  std::int64_t read(std::span<std::uint8_t> into);

 private:
  struct State;
  void refill();

  const InputFile& file_;
  std::unique_ptr<State> state_;
};

}  // namespace thimble
