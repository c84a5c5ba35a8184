// "Did you mean ...?": the known word nearest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace thimble {

// Empty if nothing known is near (more than a third of the letters differ).
std::string nearest_word(std::string_view word, std::span<const std::string> known);

}  // namespace thimble
