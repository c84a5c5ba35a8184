// What a picture may claim before it is refused. The workspace bounds memory by itself; these bound time and scratch.
#pragma once

#include <cstdint>

namespace thimble {

constexpr std::int64_t kMostPictureSide = 65'500;  // libjpeg's own limit
constexpr std::int64_t kMostPicturePixels = std::int64_t{1} << 28;

}  // namespace thimble
