#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "formats/json_text.h"
#include "formats/safetensors.h"

namespace thimble {

std::string_view SafetensorsTable::name_of_row(std::uint32_t row) const {
  return {names_.data() + rows_[row].name_begin, rows_[row].name_bytes};
}

StoredTensor SafetensorsTable::at(std::int64_t index) const {
  ensure(index >= 0 && index < count(), "safetensors: tensor ", index, " of ", count());
  const Row& row = rows_[static_cast<std::size_t>(index)];
  const Shape shape(std::span<const std::int64_t>(dims_).subspan(row.dims_begin, row.rank));
  return {.name = name_of_row(static_cast<std::uint32_t>(index)),
          .type = row.type,
          .shape = shape,
          .begin = row.begin,
          .bytes = shape.count() * bytes_of(row.type)};
}

std::optional<StoredTensor> SafetensorsTable::find(std::string_view name) const {
  const auto found =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [&](std::uint32_t row, std::string_view text) { return name_of_row(row) < text; });
  if (found == by_name_.end() || name_of_row(*found) != name) return std::nullopt;
  return at(*found);
}

void SafetensorsTable::add(std::string_view name, StoredType type, const Shape& shape, Bytes begin) {
  rows_.push_back({.begin = begin,
                   .name_begin = static_cast<std::uint32_t>(names_.size()),
                   .dims_begin = static_cast<std::uint32_t>(dims_.size()),
                   .name_bytes = static_cast<std::uint16_t>(name.size()),
                   .type = type,
                   .rank = static_cast<std::uint8_t>(shape.rank())});
  names_.insert(names_.end(), name.begin(), name.end());
  dims_.insert(dims_.end(), shape.dims().begin(), shape.dims().end());
}

void SafetensorsTable::settle(const ByteSource& source, Bytes data_begin) {
  settle_places(source, data_begin);
  settle_names(source);
}

// Sorts by place and proves that the tensors cover the data: no hole, no overlap, nothing beyond the end.
void SafetensorsTable::settle_places(const ByteSource& source, Bytes data_begin) {
  const auto is_empty = [&](const Row& row) {
    const auto dims = std::span(dims_).subspan(row.dims_begin, row.rank);
    return std::find(dims.begin(), dims.end(), 0) != dims.end();
  };
  std::sort(rows_.begin(), rows_.end(), [&](const Row& a, const Row& b) {
    return a.begin != b.begin ? a.begin < b.begin : is_empty(a) && !is_empty(b);  // before the one it touches
  });
  const Bytes data_bytes = source.size - data_begin;
  Bytes covered = 0;
  for (std::int64_t index = 0; index < count(); ++index) {
    const StoredTensor tensor = at(index);
    require(tensor.begin == covered, source.name, ": tensor ", json_quoted(tensor.name), " starts at ", tensor.begin,
            " of the data, wanted ", covered, ": tensors must lie without hole or overlap");
    covered += tensor.bytes;
    // Also keeps the sum from overflowing: it never exceeds the file by more than one tensor.
    require(covered <= data_bytes, source.name, ": tensor ", json_quoted(tensor.name), " ends at ", covered,
            " of the data, but the file holds ", data_bytes, "; the file is cut off");
    rows_[static_cast<std::size_t>(index)].begin += data_begin;
  }
  require(covered == data_bytes, source.name, ": the tensors take ", covered, " bytes, but the file holds ", data_bytes,
          " bytes of data");
}

void SafetensorsTable::settle_names(const ByteSource& source) {
  by_name_.resize(rows_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0U);
  std::sort(by_name_.begin(), by_name_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return name_of_row(a) < name_of_row(b); });
  const auto twin = std::adjacent_find(by_name_.begin(), by_name_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return name_of_row(a) == name_of_row(b);
  });
  if (twin != by_name_.end()) {
    fail_user(join_text(source.name, ": the header holds tensor ", json_quoted(name_of_row(*twin)), " twice"));
  }
}

SafetensorsFile::SafetensorsFile(File file, const SafetensorsLimits& limits)
    : file_(std::move(file)), table_(parse_safetensors(file_source(file_), limits)) {}

StoredTensor SafetensorsFile::get(std::string_view name) const {
  const std::optional<StoredTensor> tensor = table_.find(name);
  require(tensor.has_value(), path(), ": holds no tensor '", name, "' among its ", table_.count());
  return *tensor;
}

void SafetensorsFile::read(const StoredTensor& tensor, Bytes offset, std::span<std::byte> out) const {
  const Bytes wanted = static_cast<Bytes>(out.size());
  ensure(offset >= 0 && wanted <= tensor.bytes && offset <= tensor.bytes - wanted, "safetensors: wanted ", wanted,
         " bytes at offset ", offset, " of tensor ", tensor.name, ", which has ", tensor.bytes);
  read_at(file_, tensor.begin + offset, out);
}

}  // namespace thimble
