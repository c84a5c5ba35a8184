// A file in memory that holds a piece of the fuzzer's input.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "data/file.h"

namespace thimble::fuzz {

// `path` serves messages, and its folder takes scratch files.
inline InputFile memory_file(std::span<const std::uint8_t> bytes, const std::string& path) {
  Descriptor descriptor(::memfd_create("fuzz", MFD_CLOEXEC));
  if (!descriptor.is_open()) std::abort();
  if (::write(descriptor.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  return InputFile(std::move(descriptor), path);
}

}  // namespace thimble::fuzz
