// Files that are gone with the process, however it ends.
#pragma once

#include <string>

namespace thimble {

// A descriptor to read and write through, closed by exec, of an empty file in `folder` without a name or, where the
// file system has no such thing, with one that is taken away at once. `extra_flags`: O_DIRECT, say. -1: errno says why.
int open_nameless(const std::string& folder, int extra_flags = 0);

}  // namespace thimble
