#include "cli/command.h"

#include <algorithm>

#include "base/error.h"

namespace thimble::cli {

std::string options_text(const Arguments& arguments, Verb verb, std::initializer_list<std::string_view> left_out) {
  std::string text;
  for (const GivenValue& value : arguments.values()) {
    const std::string_view name = value.option->name;
    const bool is_known = (value.option->verbs & set_of(verb)) != 0;
    const bool is_left = std::find(left_out.begin(), left_out.end(), name) != left_out.end();
    if (!is_known || is_left || value.text == "false") continue;
    text += join_text(" --", name, value.option->kind == OptionKind::flag ? "" : " " + value.text);
  }
  return text;
}

}  // namespace thimble::cli
