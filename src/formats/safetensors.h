// Weights in the safetensors format: 8 bytes of header length, a JSON header, the tensors' bytes without hole or
// overlap. Written and read in pieces of kChunkBytes at most; of a file only the table of its tensors is kept in
// memory.
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

// Every element type of the format that fills whole bytes: a file must be readable although it holds tensors we have no
// use for.
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

// Wide elements first, otherwise in the given order: every tensor then lies aligned to its element, which other readers
// count on.
void write_safetensors(const ByteSink& sink, std::span<const TensorToStore> tensors, const Metadata& metadata = {});
// The same into a file that appears whole or not at all.
void publish_safetensors(const std::string& path, std::span<const TensorToStore> tensors,
                         const Metadata& metadata = {});

struct StoredTensor {
  std::string name;
  StoredType type = StoredType::f32;
  Shape shape;
  Bytes begin = 0;  // from the start of the file
  Bytes bytes = 0;
};

// The header is streamed, so its table, not its text, is what a reader holds: about 150 bytes and the name for each
// tensor.
struct SafetensorsLimits {
  Bytes header_bytes = 16 * kMiB;  // the format itself stops at 100 MB
  std::int64_t tensor_count = 65536;
  Bytes name_bytes = 512;
  Bytes metadata_bytes = kMiB;  // all keys and values
};

struct SafetensorsTable {
  std::vector<StoredTensor> tensors;   // in the order of their bytes
  std::vector<std::uint32_t> by_name;  // indices into tensors, names ascending
  Metadata metadata;

  const StoredTensor* find(std::string_view name) const;  // null if there is none
};

// Proves all that the header claims against the size of the source, or throws UserError.
SafetensorsTable parse_safetensors(const ByteSource& source, const SafetensorsLimits& limits = {});

class SafetensorsFile {
 public:
  explicit SafetensorsFile(File file, const SafetensorsLimits& limits = {});

  const std::string& path() const { return file_.path(); }
  std::span<const StoredTensor> tensors() const { return table_.tensors; }
  const Metadata& metadata() const { return table_.metadata; }
  const StoredTensor* find(std::string_view name) const { return table_.find(name); }
  const StoredTensor& get(std::string_view name) const;  // UserError if there is none

  // Bytes [offset, offset + out.size()) of the tensor.
  void read(const StoredTensor& tensor, Bytes offset, std::span<std::byte> out) const;

 private:
  File file_;
  SafetensorsTable table_;
};

}  // namespace thimble
