// Runs a program and waits for its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace thimble {

struct ChildEnd {
  int code = 0;    // of its exit
  int signal = 0;  // that ended it, or 0
  bool is_good() const { return code == 0 && signal == 0; }
};

// words[0] is looked for as a shell looks for it; none if there is no such program. stdin is empty. No file of the
// child's grows beyond `most_file_bytes`.
std::optional<ChildEnd> run_child(const std::vector<std::string>& words, std::int64_t most_file_bytes);

}  // namespace thimble
