// A static shape: up to six dimensions, products checked for overflow when the shape is made.
// Image tensors are (B, H, W, C); convolution weights are (KH, KW, C_in/groups, C_out); linear weights are (C_in,
// C_out).
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace thimble {

class Shape {
 public:
  static constexpr int kMaxRank = 6;
  // Elements: far beyond any machine, and low enough that the bytes of thousands of such tensors can be added up.
  static constexpr std::int64_t kMaxCount = std::int64_t{1} << 48;

  Shape() = default;  // a scalar: rank 0, one element
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span<const std::int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims);  // UserError if a dimension is negative or the product overflows

  int rank() const { return rank_; }
  // Negative axes count from the end, as in at(-1) for the last one.
  std::int64_t at(int axis) const { return dims_[static_cast<std::size_t>(axis < 0 ? axis + rank_ : axis)]; }
  std::int64_t operator[](int axis) const { return at(axis); }
  std::int64_t count() const { return count_; }  // number of elements
  std::span<const std::int64_t> dims() const { return {dims_.data(), static_cast<std::size_t>(rank_)}; }

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int axis = 0; axis < a.rank_; ++axis) {
      if (a.at(axis) != b.at(axis)) return false;
    }
    return true;
  }

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
  std::int64_t count_ = 1;
};

std::string to_text(const Shape& shape);  // "[100,32,32,3]"

}  // namespace thimble
