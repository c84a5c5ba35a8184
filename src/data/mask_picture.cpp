#include "data/mask_picture.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "data/png_decoder.h"

namespace thimble {
namespace {

// The pixel that each place of the sample shows, along one axis; never falling.
std::span<const std::int32_t> nearest_pixels(std::int64_t input, double begin, double length, std::int64_t output,
                                             Workspace& workspace, const std::string& path) {
  const std::span<std::int32_t> pixels = workspace.take_array<std::int32_t>(output, path);
  for (std::int64_t i = 0; i < output; ++i) {
    const double middle = begin + (static_cast<double>(i) + 0.5) * length / static_cast<double>(output);
    const auto pixel = static_cast<std::int64_t>(middle);
    pixels[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(std::clamp<std::int64_t>(pixel, 0, input - 1));
  }
  return pixels;
}

class MaskSampler {
 public:
  MaskSampler(const InputFile& file, const MaskRequest& request, Workspace& workspace)
      : file_(file), classes_(request.classes) {
    const Window window = window_of(request.framing, request.picture, request.sample);
    rows_ = nearest_pixels(request.picture.height, window.top, window.height, request.sample.height, workspace,
                           file.path());
    columns_ =
        nearest_pixels(request.picture.width, window.left, window.width, request.sample.width, workspace, file.path());
  }

  void take(const PixelRow& part, std::span<std::uint8_t> mask) const {
    const auto [first, last] = std::equal_range(rows_.begin(), rows_.end(), part.row);
    for (auto row = first; row != last; ++row) {
      std::uint8_t* line = mask.data() + (row - rows_.begin()) * static_cast<std::ptrdiff_t>(columns_.size());
      for (std::size_t x = 0; x < columns_.size(); ++x) {
        const std::int64_t behind = columns_[x] - part.column;
        if (behind >= 0 && behind % part.step == 0) line[x] = checked(part, behind / part.step);
      }
    }
  }

 private:
  std::uint8_t checked(const PixelRow& part, std::int64_t index) const {
    const std::uint8_t value = part.pixels[static_cast<std::size_t>(index)];
    require(value < classes_, file_.path(), ": found the value ", int{value}, " in row ", part.row, ", column ",
            part.column + index * part.step, ", wanted a class from 0 to ", classes_ - 1);
    return value;
  }

  const InputFile& file_;
  std::int64_t classes_;
  std::span<const std::int32_t> rows_, columns_;
};

}  // namespace

void read_mask(const InputFile& file, const MaskRequest& request, std::span<std::uint8_t> mask,
               std::span<std::byte> workspace) {
  std::array<std::uint8_t, 8> first_bytes{};
  const auto size = std::min<std::int64_t>(file.size(), static_cast<std::int64_t>(first_bytes.size()));
  const auto known = std::span(first_bytes).first(static_cast<std::size_t>(size));
  file.read_at(0, known);
  require(is_png(known), file.path(), ": found no PNG, wanted one whose values are classes");
  Workspace room(workspace);
  PngDecoder decoder(file, room);
  const PictureSize found = decoder.size(), wanted = request.picture;
  require(found == wanted, file.path(), ": found a mask of ", found.width, "x", found.height, " pixels, wanted the ",
          wanted.width, "x", wanted.height, " of its picture");
  const MaskSampler sampler(file, request, room);
  decoder.start_values();
  for (PixelRow row; decoder.read_row(row);) sampler.take(row, mask);
  decoder.finish();
}

}  // namespace thimble
