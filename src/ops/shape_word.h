// A shape as an attribute: the word "2,3,4".
#pragma once

#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/shape.h"

namespace thimble::ops {

inline std::string shape_word(const Shape& shape) {
  const std::string text = to_text(shape);
  return text.substr(1, text.size() - 2);
}

// UserError unless the word is one to six positive numbers, separated by commas and nothing else.
inline Shape parse_shape_word(std::string_view word, std::string_view op) {
  std::array<std::int64_t, Shape::kMaxRank> dims{};
  std::size_t rank = 0;
  const char* const end = word.data() + word.size();
  for (const char* at = word.data();; ++at) {
    require(rank < dims.size(), op, ": shape '", word, "' has more than ", Shape::kMaxRank, " dimensions");
    const auto [after, error] = std::from_chars(at, end, dims[rank]);
    require(error == std::errc{} && dims[rank] > 0 && (after == end || *after == ','), op, ": shape '", word,
            "' is not understood: wanted positive numbers and commas, such as 2,3,4");
    ++rank;
    if (after == end) return Shape(std::span<const std::int64_t>(dims.data(), rank));
    at = after;
  }
}

}  // namespace thimble::ops
