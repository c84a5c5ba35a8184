// One JPEG picture, row by row, in a fixed workspace: libjpeg's errors become UserErrors that name the file, and no
// header makes it take more memory. Damaged and truncated files are refused.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/file.h"
#include "data/framing.h"
#include "data/workspace.h"

namespace thimble {

class JpegDecoder {
 public:
  // Reads the header. All three must outlive the decoder.
  JpegDecoder(const InputFile& file, Workspace& workspace, const std::string& scratch_folder);
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder();

  PictureSize size() const;  // as the header states

  // Rows come at 1/divisor of the size, rounded up: 1, 2, 4 or 8, which is much cheaper than scaling them later.
  void start(int divisor);
  std::span<std::uint8_t> read_row();  // the next one as red, green, blue; good until the next call
  void finish();                       // after the last row: the file must end as it should

 private:
  struct State;
  template <typename Body>
  void guard(Body body);
  void read_header();

  State* state_;  // in the workspace
};

bool is_jpeg(std::span<const std::uint8_t> first_bytes);

}  // namespace thimble
