// A tensor that owns its memory, for tests.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "base/call.h"
#include "base/type.h"

namespace thimble::testing {

struct Tensor {
  Type type;
  std::vector<std::byte> bytes;

  Tensor() = default;
  explicit Tensor(const Type& t, std::byte fill = std::byte{0})
      : type(t), bytes(static_cast<std::size_t>(t.bytes()), fill) {}
  Tensor(const Type& t, const std::vector<double>& values) : Tensor(t) {
    for (std::size_t i = 0; i < values.size(); ++i) set(static_cast<std::int64_t>(i), values[i]);
  }

  std::int64_t count() const { return type.shape.count(); }
  TensorView view() { return {bytes.data(), type.dtype, type.shape}; }
  double at(std::int64_t index) const {
    return load({const_cast<std::byte*>(bytes.data()), type.dtype, type.shape}, index);
  }
  void set(std::int64_t index, double value) { store(view(), index, value); }
  std::vector<double> values() const {
    std::vector<double> result;
    for (std::int64_t i = 0; i < count(); ++i) result.push_back(at(i));
    return result;
  }
};

inline bool same_bits(const Tensor& a, const Tensor& b) { return a.type == b.type && a.bytes == b.bytes; }

inline std::vector<TensorView> views_of(std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (Tensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

}  // namespace thimble::testing
