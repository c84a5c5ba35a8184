// Arrays as .npy files: little-endian f32, f64, i32 and u8 in C order. Tests keep what other programs computed in them.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "base/shape.h"
#include "formats/byte_source.h"
#include "formats/file.h"

namespace thimble {

struct NpyHeader {
  DType dtype = DType::f32;
  Shape shape;
  Bytes data_begin = 0;  // from the start of the file

  Bytes bytes() const { return shape.count() * bytes_of(dtype); }
};

// Proves what the header claims against the size of the source, or throws UserError.
NpyHeader parse_npy(const ByteSource& source);

class NpyFile {
 public:
  explicit NpyFile(File file) : file_(std::move(file)), header_(parse_npy(file_source(file_))) {}

  const NpyHeader& header() const { return header_; }
  void read(Bytes offset, std::span<std::byte> out) const;  // `offset` from the start of the data

 private:
  File file_;
  NpyHeader header_;
};

// The file appears whole or not at all.
void write_npy(const std::string& path, DType dtype, const Shape& shape, std::span<const std::byte> data);

template <typename Element>
concept NpyElement = std::same_as<Element, float> || std::same_as<Element, double> ||
    std::same_as<Element, std::int32_t> || std::same_as<Element, std::uint8_t>;

template <NpyElement Element>
constexpr DType npy_dtype() {
  if constexpr (std::same_as<Element, float>) return DType::f32;
  if constexpr (std::same_as<Element, double>) return DType::f64;
  if constexpr (std::same_as<Element, std::int32_t>) return DType::i32;
  return DType::u8;
}

template <NpyElement Element>
void write_npy(const std::string& path, const Shape& shape, std::span<const Element> data) {
  write_npy(path, npy_dtype<Element>(), shape, std::as_bytes(data));
}

template <typename Element>
struct NpyArray {
  Shape shape;
  std::vector<Element> data;
};

// The whole array at once: for tests, whose arrays are small, and never inside a budget.
template <NpyElement Element>
NpyArray<Element> read_npy(const std::string& path) {
  const NpyFile file(open_to_read(path));
  require(file.header().dtype == npy_dtype<Element>(), path, ": holds ", name_of(file.header().dtype), ", wanted ",
          name_of(npy_dtype<Element>()));
  NpyArray<Element> array{.shape = file.header().shape, .data = {}};
  array.data.resize(static_cast<std::size_t>(array.shape.count()));
  file.read(0, std::as_writable_bytes(std::span(array.data)));
  return array;
}

}  // namespace thimble
