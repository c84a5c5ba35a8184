#include "report/table.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdarg>

namespace thimble {
namespace {

// Columns on the terminal: bytes that continue a UTF-8 character take none.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool stands_right(const std::string& text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0 &&
         text.find_first_not_of("0123456789.,x%+-eE ") == std::string::npos;
}

bool is_amount(const std::string& text) {
  return stands_right(text) || (text.ends_with(" MiB") && stands_right(text.substr(0, text.size() - 4))) ||
         (text.ends_with(" B") && stands_right(text.substr(0, text.size() - 2)));
}

}  // namespace

void Table::print(std::FILE* out, int indent) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], width_of(row[column]));
    }
  }
  for (const auto& row : rows_) {
    std::string line(static_cast<std::size_t>(indent), ' ');
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string gap(widths[column] - width_of(row[column]), ' ');
      line += is_amount(row[column]) ? gap + row[column] : row[column] + gap;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::fprintf(out, "%s\n", line.c_str());
  }
}

std::string format(const char* pattern, ...) {
  char buffer[512];
  std::va_list values;
  va_start(values, pattern);
  std::vsnprintf(buffer, sizeof(buffer), pattern, values);
  va_end(values);
  return buffer;
}

std::string with_commas(std::int64_t value) {
  const std::string text = to_bytes_text(value);
  return text.substr(0, text.find(' '));
}

std::string to_percent(double share) { return format("%.1f %%", 100 * share); }

std::string to_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 1) return format("%.3g ms", 1000 * seconds);
  if (seconds < 60) return format("%.1f s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 3600) return format("%dm%02ds", static_cast<int>(whole / 60), static_cast<int>(whole % 60));
  return format("%dh%02dm", static_cast<int>(whole / 3600), static_cast<int>(whole / 60 % 60));
}

}  // namespace thimble
