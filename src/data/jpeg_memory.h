// libjpeg's memory, taken from a workspace of fixed size instead of the heap. Pictures that come in several scans
// (progressive ones) need all their coefficients at once: where these do not fit, they wait in an unnamed scratch file
// and pass through a window of a few rows.
#pragma once

#include <cstdio>  // jpeglib.h needs it and does not say so

#include <jpeglib.h>

#include <string>

#include "data/file.h"
#include "data/workspace.h"

namespace thimble {

// The largest scratch file: some 80 million pixels of a common photograph.
constexpr std::int64_t kMostCoefficientBytes = std::int64_t{256} << 20;

class JpegMemory : public jpeg_memory_mgr {
 public:
  JpegMemory(Workspace& workspace, const std::string& scratch_folder);

  // From here on the decoder takes its memory here; what it took before stays where it is. Failures leave through the
  // decoder's own error exit: JERR_OUT_OF_MEMORY, JERR_TFILE_CREATE, JERR_TFILE_READ, JERR_TFILE_WRITE.
  void attach(j_common_ptr decoder);

 private:
  struct BlockArray;
  friend struct JpegMemoryCalls;

  void* take(j_common_ptr decoder, std::size_t bytes);
  BlockArray* request(j_common_ptr decoder, bool is_zeroed, JDIMENSION blocks, JDIMENSION rows);
  void realize(j_common_ptr decoder);
  JBLOCKARRAY access(j_common_ptr decoder, BlockArray& array, JDIMENSION first, JDIMENSION count, bool is_written);
  void open_window(j_common_ptr decoder, BlockArray& array, JDIMENSION count);
  void flush(j_common_ptr decoder, BlockArray& array);

  Workspace& workspace_;
  const std::string& scratch_folder_;
  jpeg_memory_mgr* original_ = nullptr;
  BlockArray* arrays_ = nullptr;  // a list through `next`
  Descriptor scratch_{-1};
};

}  // namespace thimble
