// Sparse tensors share a pool: slot s of it is elements table[s] .. table[s+1], and the k-th set bit of the tensor's
// mask is the k-th element of its slot. The parts of the sparse ops that know this.
#pragma once

#include <algorithm>
#include <cstring>

#include "ops/check.h"

namespace thimble::ops {

inline void require_pooled(std::string_view op, const OpQuery& q, std::size_t input) {
  const Type& type = q.in[input];
  require(is_floating(type.dtype) && type.layout == Layout::pooled && type.shape.rank() == 1, op, ": input ", input,
          " is ", type, ", wanted a pooled floating vector");
}

// `mask` and `table` are places in the list of inputs; element_count is that of the dense tensor.
inline void require_mask(std::string_view op, const OpQuery& q, std::size_t mask, std::int64_t element_count) {
  require_type(op, "the mask", q.in[mask], {DType::u8, {(element_count + 7) / 8}});
}

inline void require_table(std::string_view op, const OpQuery& q, std::size_t table) {
  const Type& type = q.in[table];
  require(type.dtype == DType::i32 && type.layout == Layout::dense && type.shape.rank() == 1 && type.shape.count() >= 2,
          op, ": the table is ", type, ", wanted i32[slots+1]");
  integer_between(op, q, "slot", 0, type.shape.count() - 2);
}

// For a slot whose pool is not at hand, only the number of its elements.
inline constexpr std::int64_t kAnyCapacity = std::int64_t{1} << 40;

// Where a slot lies in its pool. Table and mask are run-time data that a damaged checkpoint may have written: the ends
// are brought into the pool, and for_elements never leaves them.
struct Slot {
  std::int64_t begin = 0, end = 0;

  Slot(const TensorView& table, std::int64_t slot, std::int64_t capacity) {
    const auto* ends = table.as<const std::int32_t>();
    begin = std::clamp<std::int64_t>(ends[slot], 0, capacity);
    end = std::clamp<std::int64_t>(ends[slot + 1], begin, capacity);
  }

  // Calls body(element, place) for every non-zero of the tensor: its index in the dense tensor and in the pool.
  template <typename Body>
  void for_elements(const TensorView& mask, std::int64_t element_count, Body&& body) const {
    const auto* bits = mask.as<const std::uint8_t>();
    std::int64_t place = begin;
    for (std::int64_t element = 0; element < element_count && place < end; ++element) {
      if (((bits[element / 8] >> (element % 8)) & 1) != 0) body(element, place++);
    }
  }
};

// An update in place leaves the other slots alone; one that writes elsewhere has to bring them along.
inline void copy_pool(const TensorView& from, const TensorView& to) {
  if (from.data != to.data)
    std::memcpy(to.data, from.data, static_cast<std::size_t>(from.shape.count() * bytes_of(from.dtype)));
}

}  // namespace thimble::ops
