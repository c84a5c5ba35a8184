// One PNG picture, row by row, in a fixed workspace: libpng's errors become UserErrors that name the file, and no
// header makes it take more memory. Interlaced pictures come pass by pass, as they lie in the file, so they need no
// more.
#pragma once

#include <cstdint>
#include <span>

#include "data/file.h"
#include "data/framing.h"
#include "data/resample.h"
#include "data/workspace.h"

namespace thimble {

class PngDecoder {
 public:
  // Reads the header. Both must outlive the decoder.
  PngDecoder(const InputFile& file, Workspace& workspace);
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;
  ~PngDecoder();

  PictureSize size() const;

  void start();              // pixels become red, green, blue of 8 bits; transparency is dropped
  void start_values();       // instead: a byte a pixel, the grey or palette value as it is; UserError for other kinds
  bool read_row(PixelRow&);  // the next row or part of one, good until the next call; false after the last
  void finish();             // after the last row: the file must end as it should

 private:
  struct State;
  template <typename Body>
  void guard(Body body);
  void read_header();
  void take_row(std::int64_t pixel_bytes);

  State* state_;  // in the workspace
};

bool is_png(std::span<const std::uint8_t> first_bytes);

}  // namespace thimble
