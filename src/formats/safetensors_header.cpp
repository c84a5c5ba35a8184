#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "formats/checked_shape.h"
#include "formats/json_reader.h"
#include "formats/json_text.h"
#include "formats/safetensors.h"

namespace thimble {
// Checks the header as it streams by and fills the table. Offsets enter it as they stand, from the start of the data.
// The header is read twice: first to count, so that the table is reserved to the byte and never grows by doubling.
class SafetensorsHeader final : public JsonEvents {
 public:
  struct Counts {
    std::size_t tensors = 0;
    std::size_t dims = 0;
    std::size_t name_bytes = 0;
  };

  SafetensorsHeader(const ByteSource& source, const SafetensorsLimits& limits)
      : source_(source), limits_(limits), is_counting_(true) {}
  SafetensorsHeader(const ByteSource& source, const SafetensorsLimits& limits, const Counts& wanted)
      : source_(source), limits_(limits), is_counting_(false) {
    table_.rows_.reserve(wanted.tensors);
    table_.dims_.reserve(wanted.dims);
    table_.names_.reserve(wanted.name_bytes);
  }

  const Counts& counts() const { return counts_; }
  SafetensorsTable finish(Bytes data_begin) {
    table_.settle(source_, data_begin);
    return std::move(table_);
  }

  void on_begin_object() override;
  void on_end_object() override;
  void on_key(std::string_view key) override;
  void on_begin_array() override;
  void on_end_array() override { place_ = Place::tensor; }
  void on_text(std::string_view text) override;
  void on_integer(std::int64_t value) override;

 private:
  // The value that comes next stands here; `key` names the entry it belongs to.
  enum class Place { start, top, tensor, dtype, shape, shape_list, offsets, offsets_list, metadata };

  void begin_field(std::string_view key);
  void add_metadata(std::string_view text);
  void finish_tensor();
  std::string where() const;
  [[noreturn]] void refuse(std::string_view found) const override;

  const ByteSource& source_;
  const SafetensorsLimits& limits_;
  bool is_counting_;
  Counts counts_;
  SafetensorsTable table_;
  Place place_ = Place::start;
  std::string name_;
  std::string metadata_key_;
  Bytes metadata_bytes_ = 0;
  bool has_metadata_ = false;
  std::optional<StoredType> type_;
  std::optional<std::vector<std::int64_t>> dims_;
  std::optional<std::vector<std::int64_t>> range_;
};

std::string SafetensorsHeader::where() const {
  return name_.empty() ? source_.name : join_text(source_.name, ": tensor ", json_quoted(name_));
}

void SafetensorsHeader::refuse(std::string_view found) const {
  constexpr std::array<std::string_view, 9> kWanted = {"an object of tensors",
                                                       "an object for each tensor",
                                                       "dtype, shape and data_offsets",
                                                       "the name of an element type",
                                                       "a list of dimensions",
                                                       "dimensions as integers of at most 63 bits",
                                                       "a list of two offsets",
                                                       "offsets as integers of at most 63 bits",
                                                       "metadata of texts"};
  fail_user(join_text(where(), ": the header holds ", found, ", wanted ", kWanted[static_cast<std::size_t>(place_)]));
}

void SafetensorsHeader::on_begin_object() {
  if (place_ == Place::start) {
    place_ = Place::top;
  } else if (place_ == Place::top) {
    place_ = name_ == "__metadata__" ? Place::metadata : Place::tensor;
    require(place_ != Place::metadata || !has_metadata_, source_.name, ": the header holds __metadata__ twice");
    has_metadata_ = has_metadata_ || place_ == Place::metadata;
  } else {
    refuse("an object");
  }
}

void SafetensorsHeader::on_end_object() {
  if (place_ == Place::tensor) finish_tensor();
  name_.clear();
  place_ = Place::top;
}

void SafetensorsHeader::on_key(std::string_view key) {
  if (place_ == Place::top) {
    require(static_cast<Bytes>(key.size()) <= limits_.name_bytes, source_.name, ": a tensor's name takes ", key.size(),
            " bytes, at most ", limits_.name_bytes, " are allowed");
    name_ = key;
  } else if (place_ == Place::metadata) {
    metadata_key_ = key;
  } else {
    begin_field(key);
  }
}

void SafetensorsHeader::begin_field(std::string_view key) {
  if (key == "dtype" && !type_) {
    place_ = Place::dtype;
  } else if (key == "shape" && !dims_) {
    place_ = Place::shape;
  } else if (key == "data_offsets" && !range_) {
    place_ = Place::offsets;
  } else {
    fail_user(join_text(where(), ": unknown or repeated key ", json_quoted(key.substr(0, 64)),
                        ", wanted dtype, shape and data_offsets once each"));
  }
}

void SafetensorsHeader::on_begin_array() {
  if (place_ == Place::shape) {
    place_ = Place::shape_list;
    dims_.emplace();
  } else if (place_ == Place::offsets) {
    place_ = Place::offsets_list;
    range_.emplace();
  } else {
    refuse("a list");
  }
}

void SafetensorsHeader::on_text(std::string_view text) {
  if (place_ == Place::metadata) {
    add_metadata(text);
  } else if (place_ == Place::dtype) {
    type_ = stored_type_from_name(text);
    require(type_.has_value(), where(), ": unknown element type ", json_quoted(text.substr(0, 64)));
    place_ = Place::tensor;
  } else {
    refuse("a text");
  }
}

void SafetensorsHeader::add_metadata(std::string_view text) {
  metadata_bytes_ += static_cast<Bytes>(metadata_key_.size() + text.size());
  require(metadata_bytes_ <= limits_.metadata_bytes, source_.name, ": the metadata exceed ", limits_.metadata_bytes,
          " bytes");
  if (is_counting_) return;
  const bool is_new = table_.metadata_.emplace(metadata_key_, text).second;
  require(is_new, source_.name, ": the metadata hold ", json_quoted(metadata_key_.substr(0, 64)), " twice");
}

void SafetensorsHeader::on_integer(std::int64_t value) {
  if (place_ == Place::shape_list) {
    require(dims_->size() < Shape::kMaxRank, where(), ": more than ", Shape::kMaxRank, " dimensions are not supported");
    dims_->push_back(value);
  } else if (place_ == Place::offsets_list) {
    require(range_->size() < 2, where(), ": more than two data_offsets");
    range_->push_back(value);
  } else {
    refuse("an integer");
  }
}

void SafetensorsHeader::finish_tensor() {
  require(type_ && dims_ && range_ && range_->size() == 2, where(),
          ": the header must state dtype, shape and two data_offsets");
  require(static_cast<std::int64_t>(counts_.tensors) < limits_.tensor_count, source_.name, ": more than ",
          limits_.tensor_count, " tensors");
  const Bytes begin = range_->front();
  const Bytes end = range_->back();
  require(begin >= 0 && end >= begin, where(), ": data_offsets [", begin, ",", end,
          "] must not be negative and must ascend");
  const Shape shape = checked_shape(where(), *dims_);
  const Bytes bytes = shape.count() * bytes_of(*type_);
  require(end - begin == bytes, where(), ": data_offsets [", begin, ",", end, "] span ", end - begin, " bytes, ",
          name_of(*type_), to_text(shape), " takes ", bytes);
  counts_.tensors += 1;
  counts_.dims += dims_->size();
  counts_.name_bytes += name_.size();
  if (!is_counting_) table_.add(name_, *type_, shape, begin);
  type_.reset();
  dims_.reset();
  range_.reset();
}

namespace {

constexpr Bytes kLengthBytes = 8;

Bytes read_header_bytes(const ByteSource& source, const SafetensorsLimits& limits) {
  require(source.size >= kLengthBytes, source.name, ": has ", source.size,
          " bytes, a safetensors file starts with 8 bytes of header length");
  std::array<std::byte, kLengthBytes> raw{};
  source.read(0, raw);
  std::uint64_t value = 0;
  for (std::size_t index = raw.size(); index-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(raw[index]);
  const Bytes most = std::min(limits.header_bytes, source.size - kLengthBytes);
  require(value <= static_cast<std::uint64_t>(most), source.name, ": states a header of ", value, " bytes, at most ",
          most, " are possible here; not a safetensors file, or cut off");
  return static_cast<Bytes>(value);
}

}  // namespace

SafetensorsTable parse_safetensors(const ByteSource& source, const SafetensorsLimits& limits) {
  ensure(limits.name_bytes <= std::numeric_limits<std::uint16_t>::max() && limits.header_bytes <= kGiB,
         "safetensors: limits beyond what the table can index");
  const Bytes data_begin = kLengthBytes + read_header_bytes(source, limits);
  const JsonLimits json_limits{.depth = 3, .token_bytes = limits.metadata_bytes};
  SafetensorsHeader counter(source, limits);
  read_json(source, kLengthBytes, data_begin, json_limits, counter);
  SafetensorsHeader header(source, limits, counter.counts());
  read_json(source, kLengthBytes, data_begin, json_limits, header);
  return header.finish(data_begin);
}

}  // namespace thimble
