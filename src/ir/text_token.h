// What the printer and the parser of graphs must agree on: which characters make a name, and which words need no
// quotes.
#pragma once

#include <algorithm>
#include <charconv>
#include <string_view>

namespace thimble {

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr bool is_name_character(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '/' || c == '-' || c == '\'';
}

inline bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_name_character);
}

// The whole text as a number of type T; false if it is not one or does not fit.
template <typename T>
bool read_number(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [after, failure] = std::from_chars(text.data(), end, value);
  return failure == std::errc() && after == end;
}

// Starts with a letter and cannot be taken for a number, as nan and inf could.
inline bool is_plain_word(std::string_view text) {
  double number = 0;
  return is_name(text) && is_letter(text.front()) && !read_number(text, number);
}

}  // namespace thimble
