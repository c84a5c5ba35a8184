// Options from a TOML file: keys are the names of options, "model" is the operand.
#pragma once

#include <string>

#include "cli/arguments.h"

namespace thimble::cli {

// Keys of other verbs are passed over, so that one file serves plan and train. UserError names file, line, found and
// wanted; an unknown key comes with the nearest known one.
void read_config(const std::string& path, Source source, Arguments& arguments);

// The options in force as such a file.
std::string config_text(const Arguments& arguments);

}  // namespace thimble::cli
