#include "data/picture.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "data/jpeg_decoder.h"
#include "data/picture_limits.h"
#include "data/png_decoder.h"
#include "data/resample.h"

namespace thimble {
namespace {

void check_size(PictureSize size, const std::string& path) {
  const bool is_good = size.height >= 1 && size.width >= 1 && size.height <= kMostPictureSide &&
                       size.width <= kMostPictureSide && size.height * size.width <= kMostPicturePixels;
  require(is_good, path, ": the header states ", size.width, "x", size.height, " pixels, wanted sides from 1 to ",
          kMostPictureSide, " and at most ", kMostPicturePixels, " pixels");
}

// The strongest reduction that leaves the window no smaller than the sample.
int divisor_for(const Window& window, PictureSize sample) {
  for (const int divisor : {8, 4, 2}) {
    if (window.height >= static_cast<double>(divisor * sample.height) &&
        window.width >= static_cast<double>(divisor * sample.width)) {
      return divisor;
    }
  }
  return 1;
}

PictureSize divided(PictureSize size, std::int64_t divisor) {
  return {(size.height + divisor - 1) / divisor, (size.width + divisor - 1) / divisor};
}

Window scaled(const Window& window, PictureSize from, PictureSize to) {
  const double down = static_cast<double>(to.height) / static_cast<double>(from.height);
  const double right = static_cast<double>(to.width) / static_cast<double>(from.width);
  return {window.top * down, window.left * right, window.height * down, window.width * right};
}

struct Task {
  const InputFile& file;
  const Framing& framing;
  const Shape& sample;
  std::span<std::uint8_t> pixels;
  const std::string& scratch_folder;

  PictureSize sample_size() const { return {sample[0], sample[1]}; }
};

PictureSize read_jpeg(const Task& task, Workspace& workspace) {
  JpegDecoder decoder(task.file, workspace, task.scratch_folder);
  const PictureSize whole = decoder.size();
  check_size(whole, task.file.path());
  const Window window = window_of(task.framing, whole, task.sample_size());
  const int divisor = divisor_for(window, task.sample_size());
  const PictureSize size = divided(whole, divisor);
  // Before the decoder starts, which takes what is left if it has a use for it.
  Resampler resampler(size, scaled(window, whole, size), task.sample, workspace, task.file.path());
  decoder.start(divisor);
  for (std::int64_t row = 0; row < size.height; ++row) resampler.add({.row = row, .pixels = decoder.read_row()});
  decoder.finish();
  resampler.write(task.pixels);
  return whole;
}

PictureSize read_png(const Task& task, Workspace& workspace) {
  PngDecoder decoder(task.file, workspace);
  check_size(decoder.size(), task.file.path());
  const Window window = window_of(task.framing, decoder.size(), task.sample_size());
  decoder.start();
  Resampler resampler(decoder.size(), window, task.sample, workspace, task.file.path());
  for (PixelRow row; decoder.read_row(row);) resampler.add(row);
  decoder.finish();
  resampler.write(task.pixels);
  return decoder.size();
}

}  // namespace

Bytes picture_workspace_bytes(const Shape& sample) {
  return round_up(resample_bytes(sample), static_cast<Bytes>(Workspace::kAlignment)) + kDecoderBytes;
}

PictureSize read_picture(const InputFile& file, const Framing& framing, const Shape& sample,
                         std::span<std::uint8_t> pixels, std::span<std::byte> workspace,
                         const std::string& scratch_folder) {
  ensure(static_cast<Bytes>(workspace.size()) >= picture_workspace_bytes(sample), "read_picture: given ",
         workspace.size(), " bytes");
  std::array<std::uint8_t, 8> first_bytes{};
  const auto size = std::min<std::int64_t>(file.size(), static_cast<std::int64_t>(first_bytes.size()));
  const auto known = std::span(first_bytes).first(static_cast<std::size_t>(size));
  file.read_at(0, known);
  Workspace room(workspace);
  const Task task{file, framing, sample, pixels, scratch_folder};
  // By what is in it: names lie, even in well-known collections.
  if (is_jpeg(known)) return read_jpeg(task, room);
  if (is_png(known)) return read_png(task, room);
  fail_user(join_text(file.path(), ": found neither a JPEG nor a PNG picture, wanted one of them"));
}

}  // namespace thimble
