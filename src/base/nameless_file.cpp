#include "base/nameless_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace thimble {

int open_nameless(const std::string& folder, int extra_flags) {
  const int file = open(folder.c_str(), O_RDWR | O_CLOEXEC | O_TMPFILE | O_EXCL | extra_flags, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  std::string name = folder + "/.thimble-scratch-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC | extra_flags);
  if (named >= 0) unlink(name.c_str());
  return named;
}

}  // namespace thimble
