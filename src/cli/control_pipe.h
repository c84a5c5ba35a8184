// A named pipe that takes lines from whoever writes to it. Reading never waits, whatever writers do.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace thimble::cli {

class ControlPipe {
 public:
  // Makes the pipe if there is nothing at `path`; UserError if there is something else.
  explicit ControlPipe(const std::string& path);
  ~ControlPipe();  // removes the pipe if it was made here and is still there
  ControlPipe(const ControlPipe&) = delete;
  ControlPipe& operator=(const ControlPipe&) = delete;

  // Hands over the lines that have come, without their ends; a line that is too long comes cut. What exceeds a fair
  // share is left for the next time, so that a flood does not hold up the run.
  void read_lines(const std::function<void(std::string_view)>& take);

 private:
  std::string path_;
  int file_ = -1;
  bool is_ours_ = false;
  std::string line_;  // so far, without its end
};

}  // namespace thimble::cli
