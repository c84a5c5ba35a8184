// Which build this is: results are bit-equal only within one.
#pragma once

#include <string>

namespace thimble {

// The linker's hash of the running program, in hexadecimal; "unknown" if it was linked without one.
std::string build_id();

}  // namespace thimble
