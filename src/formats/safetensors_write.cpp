#include <algorithm>
#include <array>

#include "base/error.h"
#include "formats/json_text.h"
#include "formats/publish.h"
#include "formats/safetensors.h"

namespace thimble {
namespace {

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr Bytes kAlignment = 8;

std::string list_text(std::span<const std::int64_t> numbers) {
  std::string text = "[";
  for (const std::int64_t number : numbers) text += std::to_string(number) + ',';
  if (!numbers.empty()) text.pop_back();
  return text + ']';
}

// What we write, we can read: the names keep to the reader's limits.
void ensure_names_can_be_read(std::span<const TensorToStore* const> tensors) {
  const SafetensorsLimits limits;
  std::vector<std::string_view> names;
  for (const TensorToStore* tensor : tensors) names.push_back(tensor->name);
  std::sort(names.begin(), names.end());
  for (std::size_t index = 0; index < names.size(); ++index) {
    const std::string_view name = names[index];
    ensure(name != kMetadataKey && is_utf8(name) && static_cast<Bytes>(name.size()) <= limits.name_bytes,
           "safetensors: '", name, "' cannot name a tensor");
    ensure(index == 0 || names[index - 1] != name, "safetensors: two tensors are named '", name, "'");
  }
  ensure(static_cast<std::int64_t>(names.size()) <= limits.tensor_count, "safetensors: ", names.size(),
         " tensors, at most ", limits.tensor_count, " fit into a file");
}

std::string header_of(std::span<const TensorToStore* const> tensors, const Metadata& metadata) {
  JsonObject header;
  if (!metadata.empty()) {
    JsonObject entries;
    for (const auto& [key, value] : metadata) entries.text(key, value);
    header.raw(kMetadataKey, entries.to_string());
  }
  Bytes offset = 0;
  for (const TensorToStore* tensor : tensors) {
    const Bytes end = offset + tensor->shape.count() * bytes_of(tensor->type);
    JsonObject entry;
    entry.text("dtype", name_of(tensor->type)).raw("shape", list_text(tensor->shape.dims()));
    entry.raw("data_offsets", list_text(std::array{offset, end}));
    header.raw(tensor->name, entry.to_string());
    offset = end;
  }
  std::string text = header.to_string();
  // The format pads with spaces, so that the tensors start aligned.
  text.resize(static_cast<std::size_t>(round_up(static_cast<Bytes>(text.size()), kAlignment)), ' ');
  ensure(static_cast<Bytes>(text.size()) <= SafetensorsLimits{}.header_bytes, "safetensors: the header takes ",
         text.size(), " bytes, at most ", SafetensorsLimits{}.header_bytes, " can be read");
  return text;
}

void write_tensor(const ByteSink& sink, const TensorToStore& tensor, std::span<std::byte> buffer) {
  const Bytes bytes = tensor.shape.count() * bytes_of(tensor.type);
  for (Bytes offset = 0; offset < bytes; offset += kChunkBytes) {
    const auto piece = buffer.first(static_cast<std::size_t>(std::min(kChunkBytes, bytes - offset)));
    tensor.produce(offset, piece);
    sink(piece);
  }
}

}  // namespace

void write_safetensors(const ByteSink& sink, std::span<const TensorToStore> tensors, const Metadata& metadata) {
  std::vector<const TensorToStore*> ordered;
  for (const TensorToStore& tensor : tensors) ordered.push_back(&tensor);
  std::stable_sort(ordered.begin(), ordered.end(), [](const TensorToStore* a, const TensorToStore* b) {
    return bytes_of(a->type) > bytes_of(b->type);
  });
  ensure_names_can_be_read(ordered);

  const std::string header = header_of(ordered, metadata);
  std::array<std::byte, 8> length{};  // little-endian
  for (std::size_t index = 0; index < length.size(); ++index) {
    length[index] = static_cast<std::byte>((header.size() >> (8 * index)) & 0xff);
  }
  sink(length);
  sink(bytes_of_text(header));
  std::vector<std::byte> buffer(static_cast<std::size_t>(kChunkBytes));
  for (const TensorToStore* tensor : ordered) write_tensor(sink, *tensor, buffer);
}

void publish_safetensors(const std::string& path, std::span<const TensorToStore> tensors, const Metadata& metadata) {
  Publication file(path);
  write_safetensors(file.sink(), tensors, metadata);
  file.publish();
}

}  // namespace thimble
