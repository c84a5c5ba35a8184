// From a JPEG or PNG file to a sample: decoded row by row and scaled on the way, in a workspace whose size depends on
// the sample alone, whatever the file is or claims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/shape.h"
#include "data/file.h"
#include "data/framing.h"

namespace thimble {

// For one picture at a time: sums of the sample, and a decoder's tables and rows. A mebibyte serves common photographs
// up to some 20,000 pixels across, progressive ones up to some 10,000.
constexpr Bytes kDecoderBytes = kMiB;
Bytes picture_workspace_bytes(const Shape& sample);

// `sample` is (H, W, 3), or (H, W, 1) for grey. UserError names the file where it is damaged, of another kind, or too
// large. `scratch_folder` takes what a large progressive JPEG needs at once, in a file without a name. Returns the size
// of the whole picture; the workspace is free again.
PictureSize read_picture(const InputFile& file, const Framing& framing, const Shape& sample,
                         std::span<std::uint8_t> pixels, std::span<std::byte> workspace,
                         const std::string& scratch_folder);

}  // namespace thimble
