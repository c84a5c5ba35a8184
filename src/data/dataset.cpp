#include "data/dataset.h"

#include "base/error.h"

namespace thimble {

std::int32_t Dataset::read(Split, std::int64_t, std::span<std::uint8_t>) const {
  fail_internal(join_text(info_.name, ": has a class for every pixel, asked for one of a sample"));
}

void Dataset::read_masked(Split, std::int64_t, const Framing&, const MaskedRoom&) const {
  fail_internal(join_text(info_.name, ": has a class for each sample, asked for one of every pixel"));
}

std::int32_t Dataset::read_framed(Split, std::int64_t, const Framing&, std::span<std::uint8_t>,
                                  std::span<std::byte>) const {
  fail_internal(join_text(info_.name, ": has samples of one size, asked for a part of one"));
}

void Dataset::check_read(Split split, std::int64_t index, std::span<const std::uint8_t> pixels) const {
  ensure(index >= 0 && index < count(split), info_.name, ": asked for ", name_of(split), " sample ", index, " of ",
         count(split));
  ensure(static_cast<std::int64_t>(pixels.size()) == info_.sample_shape.count(), info_.name, ": given room for ",
         pixels.size(), " pixel bytes, wanted ", info_.sample_shape.count());
}

void Dataset::check_read_masked(Split split, std::int64_t index, const MaskedRoom& room) const {
  check_read(split, index, room.pixels);
  ensure(static_cast<std::int64_t>(room.mask.size()) == mask_bytes(), info_.name, ": given room for a mask of ",
         room.mask.size(), " bytes, wanted ", mask_bytes());
}

}  // namespace thimble
