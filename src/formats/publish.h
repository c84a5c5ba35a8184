// A file that appears whole or not at all: written beside its name as NAME.part-XXXXXXXX, brought to disk, renamed.
#pragma once

#include <string>

#include "formats/file.h"

namespace thimble {

class Publication {
 public:
  explicit Publication(std::string path);
  Publication(const Publication&) = delete;
  Publication& operator=(const Publication&) = delete;
  ~Publication();  // without publish() nothing stays behind

  void append(std::span<const std::byte> bytes);
  ByteSink sink() {
    return [this](std::span<const std::byte> bytes) { append(bytes); };
  }
  void publish();  // the name now stands for the new bytes, also after a power failure

 private:
  std::string path_;
  File file_;
  Bytes size_ = 0;
};

}  // namespace thimble
