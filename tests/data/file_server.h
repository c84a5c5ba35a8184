// A web server on this machine for the tests of fetching: serves files from memory, in one thread, and misbehaves on
// demand.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "data/fake_files.h"

namespace thimble::test {

class FileServer {
 public:
  explicit FileServer(std::map<std::string, ByteList> files);  // by path, such as "/a/b.gz"
  FileServer(const FileServer&) = delete;
  FileServer& operator=(const FileServer&) = delete;
  ~FileServer();

  std::string url() const;                    // "http://127.0.0.1:PORT"
  std::vector<std::string> requests() const;  // "GET /a/b.gz" or "GET /a/b.gz from 100", in order

  std::atomic<std::int64_t> hang_up_after = -1;  // bytes of the next answer, then whole again; below zero: never
  std::atomic<bool> ignores_ranges = false;

 private:
  void serve();
  void answer(int connection);

  std::map<std::string, ByteList> files_;
  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace thimble::test
