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

using TextSink = std::function<void(std::string_view piece)>;

std::string list_text(std::span<const std::int64_t> numbers) {
  std::string text = "[";
  for (const std::int64_t number : numbers) text += std::to_string(number) + ',';
  if (!numbers.empty()) text.pop_back();
  return text + ']';
}

// What we write, we can read: the names keep to the reader's limits. The eighth leaves room for the escapes of JSON.
void ensure_can_be_read(std::span<const TensorToStore* const> tensors, const Metadata& metadata) {
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
  Bytes metadata_bytes = 0;
  for (const auto& [key, value] : metadata) metadata_bytes += static_cast<Bytes>(key.size() + value.size());
  ensure(metadata_bytes <= limits.metadata_bytes / 8, "safetensors: metadata of ", metadata_bytes, " bytes, at most ",
         limits.metadata_bytes / 8, " are sure to be read");
  ensure(static_cast<std::int64_t>(names.size()) <= limits.tensor_count, "safetensors: ", names.size(),
         " tensors, at most ", limits.tensor_count, " fit into a file");
}

// The header in pieces, in order, so that it need not be held whole.
void for_each_header_piece(std::span<const TensorToStore* const> tensors, const Metadata& metadata,
                           const TextSink& visit) {
  std::string_view separator = "{";
  if (!metadata.empty()) {
    JsonObject entries;
    for (const auto& [key, value] : metadata) entries.text(key, value);
    visit(join_text(separator, json_quoted(kMetadataKey), ":", entries.to_string()));
    separator = ",";
  }
  Bytes offset = 0;
  for (const TensorToStore* tensor : tensors) {
    const Bytes end = offset + tensor->shape.count() * bytes_of(tensor->type);
    JsonObject entry;
    entry.text("dtype", name_of(tensor->type)).raw("shape", list_text(tensor->shape.dims()));
    entry.raw("data_offsets", list_text(std::array{offset, end}));
    visit(join_text(separator, json_quoted(tensor->name), ":", entry.to_string()));
    separator = ",";
    offset = end;
  }
  visit(separator == "{" ? "{}" : "}");
}

void write_header(const ByteSink& sink, std::span<const TensorToStore* const> tensors, const Metadata& metadata) {
  Bytes size = 0;
  for_each_header_piece(tensors, metadata, [&](std::string_view piece) { size += static_cast<Bytes>(piece.size()); });
  const Bytes padded = round_up(size, kAlignment);  // with spaces, says the format, so that the tensors start aligned
  ensure(padded <= SafetensorsLimits{}.header_bytes, "safetensors: the header takes ", padded, " bytes, at most ",
         SafetensorsLimits{}.header_bytes, " can be read");

  std::string chunk;
  for (int index = 0; index < 8; ++index) chunk += static_cast<char>((padded >> (8 * index)) & 0xff);  // little-endian
  for_each_header_piece(tensors, metadata, [&](std::string_view piece) {
    if (static_cast<Bytes>(chunk.size() + piece.size()) > kChunkBytes) {
      sink(bytes_of_text(chunk));
      chunk.clear();
    }
    chunk += piece;
  });
  chunk.append(static_cast<std::size_t>(padded - size), ' ');
  sink(bytes_of_text(chunk));
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
  ensure_can_be_read(ordered, metadata);

  write_header(sink, ordered, metadata);
  std::vector<std::byte> buffer(static_cast<std::size_t>(kChunkBytes));
  for (const TensorToStore* tensor : ordered) write_tensor(sink, *tensor, buffer);
}

void publish_safetensors(const std::string& path, std::span<const TensorToStore> tensors, const Metadata& metadata) {
  Publication file(path);
  write_safetensors(file.sink(), tensors, metadata);
  file.publish();
}

}  // namespace thimble
