// What a terminal can show.
#pragma once

#include <cstdio>

namespace thimble::cli {

// `file` if it is a terminal on which a line can be drawn again in place; null if not.
std::FILE* redrawable(std::FILE* file);

}  // namespace thimble::cli
