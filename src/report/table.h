// Rows of cells in aligned columns. A cell that reads as a number or an amount stands to the right.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace thimble {

class Table {
 public:
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print(std::FILE* out, int indent = 2) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
std::string with_commas(std::int64_t value);  // "1,467,610"
std::string to_percent(double share);         // "12.5 %"
std::string to_duration(double seconds);      // "35 ms", "1.2 s", "3m05s", "2h14m"

}  // namespace thimble
