// A file from the network, through the system's own curl or wget as a child process: no TLS in this program. Goes on
// where an earlier attempt ended, and believes nothing before size and SHA-256 are right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thimble {

struct RemoteFile {
  std::string name;
  std::int64_t bytes = 0;
  std::string sha256;  // 64 hexadecimal digits
};

struct FetchOptions {
  std::vector<std::string> programs = {"curl", "wget"};  // the first that is installed is used
  bool shows_progress = false;                           // on stderr, by the program itself
};

// `url` begins with http:// or https://. What is at `path` is taken for the beginning of the file, and kept on failure
// unless its sum is wrong.
void fetch(const std::string& url, const RemoteFile& file, const std::string& path, const FetchOptions& options);

}  // namespace thimble
