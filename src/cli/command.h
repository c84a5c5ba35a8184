// A command line from the words that the user gave for another.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "cli/arguments.h"

namespace thimble::cli {

// " --batch 16 --threads 1": those of the given options that `verb` has too, but for some.
std::string options_text(const Arguments& arguments, Verb verb, std::initializer_list<std::string_view> left_out);

}  // namespace thimble::cli
