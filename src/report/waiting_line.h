// A line on a terminal that says what a long wait is for and how long it has lasted. A short wait goes unmentioned, and
// the line is gone when the wait is over.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

namespace thimble {

class WaitingLine {
 public:
  static constexpr std::chrono::milliseconds kPause{1000};  // before the line is shown

  // `out` must be a terminal that can redraw a line; null: nothing is ever shown, and no thread is started.
  WaitingLine(std::FILE* out, std::string what, std::chrono::milliseconds pause = kPause);
  ~WaitingLine();
  WaitingLine(const WaitingLine&) = delete;
  WaitingLine& operator=(const WaitingLine&) = delete;

 private:
  void run(std::chrono::milliseconds pause);

  std::FILE* out_;
  std::string what_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace thimble
