#include "cli/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace thimble::cli {

std::FILE* redrawable(std::FILE* file) {
  const char* terminal = std::getenv("TERM");
  const bool can_redraw = isatty(fileno(file)) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
  return can_redraw ? file : nullptr;
}

}  // namespace thimble::cli
