// Weights in the safetensors format: 8 bytes of header length, a JSON header, the tensors' bytes without hole or
// overlap. Written and read in pieces of kChunkBytes at most; only the table of the tensors is kept in memory.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"
#include "formats/byte_source.h"
#include "formats/file.h"

namespace thimble {

// Every type of the format that fills whole bytes: a file must be readable although we have no use for all its tensors.
enum class StoredType : std::uint8_t {
  f64,
  i64,
  u64,
  f32,
  i32,
  u32,
  f16,
  bf16,
  i16,
  u16,
  f8_e5m2,
  f8_e4m3,
  i8,
  u8,
  boolean,
};

std::string_view name_of(StoredType type);  // as in the file: "F32"
Bytes bytes_of(StoredType type);            // of one element
std::optional<StoredType> stored_type_from_name(std::string_view name);
StoredType stored_type(DType dtype);
std::optional<DType> dtype_of(StoredType type);  // nothing if we cannot compute with it

using Metadata = std::map<std::string, std::string>;

struct TensorToStore {
  std::string name;
  StoredType type = StoredType::f32;
  Shape shape;
  // Fills `out` with the tensor's bytes from `offset` on. Called front to back, each byte once.
  std::function<void(Bytes offset, std::span<std::byte> out)> produce;
};

// Wide elements first, then in the given order: so every tensor lies aligned to its element, as other readers expect.
void write_safetensors(const ByteSink& sink, std::span<const TensorToStore> tensors, const Metadata& metadata = {});
// The same into a file that appears whole or not at all.
void publish_safetensors(const std::string& path, std::span<const TensorToStore> tensors,
                         const Metadata& metadata = {});

struct StoredTensor {
  std::string_view name;  // lives as long as the table it came from
  StoredType type = StoredType::f32;
  Shape shape;
  Bytes begin = 0;  // from the start of the file
  Bytes bytes = 0;
};

struct SafetensorsLimits {
  Bytes header_bytes = 16 * kMiB;  // the format itself stops at 100 MB
  std::int64_t tensor_count = 65536;
  Bytes name_bytes = 512;
  Bytes metadata_bytes = kMiB;  // all keys and values
};

// What a header says, in less memory than its text takes: a tensor costs its name, 28 bytes and 8 for each dimension.
class SafetensorsTable {
 public:
  std::int64_t count() const { return static_cast<std::int64_t>(rows_.size()); }
  StoredTensor at(std::int64_t index) const;  // in the order of their bytes
  std::optional<StoredTensor> find(std::string_view name) const;
  const Metadata& metadata() const { return metadata_; }

 private:
  friend class SafetensorsHeader;  // which fills the table from the header's JSON

  struct Row {
    Bytes begin = 0;
    std::uint32_t name_begin = 0;  // in names_
    std::uint32_t dims_begin = 0;  // in dims_
    std::uint16_t name_bytes = 0;
    StoredType type = StoredType::f32;
    std::uint8_t rank = 0;
  };

  std::string_view name_of_row(std::uint32_t row) const;
  void add(std::string_view name, StoredType type, const Shape& shape, Bytes begin);
  void settle(const ByteSource& source, Bytes data_begin);  // UserError unless places and names are what they must be
  void settle_places(const ByteSource& source, Bytes data_begin);
  void settle_names(const ByteSource& source);

  std::vector<Row> rows_;
  std::vector<std::uint32_t> by_name_;  // indices into rows_, names ascending
  std::vector<char> names_;
  std::vector<std::int64_t> dims_;
  Metadata metadata_;
};

// Proves all that the header claims against the size of the source, or throws UserError. The header is streamed.
SafetensorsTable parse_safetensors(const ByteSource& source, const SafetensorsLimits& limits = {});

class SafetensorsFile {
 public:
  explicit SafetensorsFile(File file, const SafetensorsLimits& limits = {});

  const std::string& path() const { return file_.path(); }
  const SafetensorsTable& table() const { return table_; }
  StoredTensor get(std::string_view name) const;  // UserError if there is none

  // Bytes [offset, offset + out.size()) of the tensor.
  void read(const StoredTensor& tensor, Bytes offset, std::span<std::byte> out) const;

 private:
  File file_;
  SafetensorsTable table_;
};

}  // namespace thimble
