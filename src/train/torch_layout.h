// Where PyTorch keeps an element of ours. Convolution weights are (KH, KW, I, O) here and (O, I, KH, KW) there, linear
// ones (I, O) and (O, I): both are (A, I, O) against (O, I, A), with A the taps of the filter. Vectors are the same.
#pragma once

#include <cstdint>

#include "base/shape.h"

namespace thimble {

class TorchLayout {
 public:
  explicit TorchLayout(const Shape& ours);

  const Shape& shape() const { return shape_; }  // PyTorch's
  std::int64_t count() const { return taps_ * inputs_ * outputs_; }

  std::int64_t torch_index(std::int64_t ours) const {
    const std::int64_t output = ours % outputs_, rest = ours / outputs_;
    return (output * inputs_ + rest % inputs_) * taps_ + rest / inputs_;
  }

  // Calls body(torch index, our index) for PyTorch's elements first .. first + count - 1 in their order.
  template <typename Body>
  void for_torch_range(std::int64_t first, std::int64_t count, Body&& body) const {
    std::int64_t tap = first % taps_, input = first / taps_ % inputs_, output = first / taps_ / inputs_;
    for (std::int64_t k = 0; k < count; ++k) {
      body(first + k, (tap * inputs_ + input) * outputs_ + output);
      if (++tap < taps_) continue;
      tap = 0;
      if (++input < inputs_) continue;
      input = 0;
      ++output;
    }
  }

 private:
  Shape shape_;
  std::int64_t taps_ = 1, inputs_ = 1, outputs_ = 1;
};

}  // namespace thimble
