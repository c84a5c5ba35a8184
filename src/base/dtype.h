// Element types. Knows sizes and names, nothing of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace thimble {

enum class DType : std::uint8_t { f32, bf16, f64, i32, u8 };

constexpr std::int64_t bytes_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return 4;
    case DType::bf16: return 2;
    case DType::f64: return 8;
    case DType::i32: return 4;
    case DType::u8: return 1;
  }
  return 0;
}

constexpr bool is_floating(DType dtype) { return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f64; }

constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return "f32";
    case DType::bf16: return "bf16";
    case DType::f64: return "f64";
    case DType::i32: return "i32";
    case DType::u8: return "u8";
  }
  return "?";
}

constexpr std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64, DType::i32, DType::u8}) {
    if (name_of(dtype) == name) return dtype;
  }
  return std::nullopt;
}

}  // namespace thimble
