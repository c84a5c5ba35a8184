#include <array>

#include "base/error.h"
#include "formats/safetensors.h"

namespace thimble {
namespace {

struct TypeRow {
  StoredType type;
  std::string_view name;
  Bytes bytes;
};

constexpr std::array<TypeRow, 15> kTypes = {{
    {StoredType::f64, "F64", 8},
    {StoredType::i64, "I64", 8},
    {StoredType::u64, "U64", 8},
    {StoredType::f32, "F32", 4},
    {StoredType::i32, "I32", 4},
    {StoredType::u32, "U32", 4},
    {StoredType::f16, "F16", 2},
    {StoredType::bf16, "BF16", 2},
    {StoredType::i16, "I16", 2},
    {StoredType::u16, "U16", 2},
    {StoredType::f8_e5m2, "F8_E5M2", 1},
    {StoredType::f8_e4m3, "F8_E4M3", 1},
    {StoredType::i8, "I8", 1},
    {StoredType::u8, "U8", 1},
    {StoredType::boolean, "BOOL", 1},
}};

const TypeRow& row_of(StoredType type) {
  const auto index = static_cast<std::size_t>(type);
  ensure(index < kTypes.size() && kTypes[index].type == type, "safetensors: no such element type: ", index);
  return kTypes[index];
}

}  // namespace

std::string_view name_of(StoredType type) { return row_of(type).name; }
Bytes bytes_of(StoredType type) { return row_of(type).bytes; }

std::optional<StoredType> stored_type_from_name(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (row.name == name) return row.type;
  }
  return std::nullopt;
}

StoredType stored_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return StoredType::f32;
    case DType::bf16: return StoredType::bf16;
    case DType::f64: return StoredType::f64;
    case DType::i32: return StoredType::i32;
    case DType::u8: return StoredType::u8;
  }
  fail_internal("safetensors: an element type without a stored form");
}

std::optional<DType> dtype_of(StoredType type) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64, DType::i32, DType::u8}) {
    if (stored_type(dtype) == type) return dtype;
  }
  return std::nullopt;
}

}  // namespace thimble
