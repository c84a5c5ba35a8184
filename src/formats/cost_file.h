// Times of kernels measured on one machine by one version of the program, as a JSON object. Knows nothing of kernels:
// a use is a text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/byte_source.h"

namespace thimble {

struct CostEntry {
  std::int64_t threads = 1;
  std::string use;     // kernel, types and attributes
  double seconds = 0;  // of one call, median
  double flops = 0;    // of one call
  double bytes = 0;    // of one call
  friend bool operator==(const CostEntry&, const CostEntry&) = default;
};

// What the times depend on beside the use.
struct CostOrigin {
  std::string cpu;
  std::string isa;
  std::string program;  // its version
  friend bool operator==(const CostOrigin&, const CostOrigin&) = default;
};

inline constexpr std::size_t kMostCosts = 4096;  // held beside a run's arena, so there is a bound

struct CostFile {
  CostOrigin origin;
  std::vector<CostEntry> entries;  // by threads and use, each once
  friend bool operator==(const CostFile&, const CostFile&) = default;
};

std::string to_text(const CostFile& file);
CostFile parse_costs(const ByteSource& source);  // UserError for anything that to_text would not write

}  // namespace thimble
