// Every option of every verb, in one table: the parser, the config file and the help all read it.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thimble::cli {

enum class Verb : std::uint8_t { train, plan, explore, bench, eval, models, ops, data };

enum class OptionKind : std::uint8_t {
  flag,     // given or not
  integer,  // a whole number from `least` on
  number,   // from `least` on and, if there is a limit, below it
  text,
  word,  // one of those in `value`, which are parted by '|'
  list,  // words parted by commas; given several times, all count
};

enum class OptionGroup : std::uint8_t { problem, memory, training, run, machine, output };

struct OptionDef {
  std::string_view name;  // without dashes; the key in a config file
  OptionKind kind = OptionKind::text;
  std::string_view value;  // what the help shows behind the name; the choices of a word
  std::string_view help;
  unsigned verbs = 0;  // bits of set_of(verb)
  OptionGroup group = OptionGroup::problem;
  double least = 0;
  double below = std::numeric_limits<double>::infinity();
};

constexpr unsigned set_of(Verb verb) { return 1U << static_cast<unsigned>(verb); }

std::span<const OptionDef> option_table();
const OptionDef* find_option(std::string_view name);  // of any verb; null if there is none
std::vector<std::string> option_names(Verb verb);     // without dashes

std::string_view name_of(OptionGroup group);

// The words of a text such as "f32|bf16" or "a,b,c". Empty pieces are kept, so that "a,,b" can be refused.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace thimble::cli
