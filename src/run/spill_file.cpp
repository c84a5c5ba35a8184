#include "run/spill_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/nameless_file.h"

namespace thimble {

SpillFile::SpillFile(const std::string& folder, Bytes bytes, std::span<std::byte> staging, bool tries_direct)
    : folder_(folder), bytes_(round_up(bytes, kSpillBlock)), staging_(staging) {
  ensure(static_cast<Bytes>(staging.size()) >= kSpillBlock && static_cast<Bytes>(staging.size()) % kSpillBlock == 0,
         "spill: found ", staging.size(), " bytes of staging, wanted whole blocks of ", kSpillBlock);
  if (tries_direct) file_ = open_nameless(folder, O_DIRECT);
  is_direct_ = file_ >= 0;
  if (!tries_direct || (file_ < 0 && errno == EINVAL)) file_ = open_nameless(folder, 0);
  require(file_ >= 0, "--spill ", folder,
          ": found no way to make a file there: ", static_cast<const char*>(std::strerror(errno)));
  const int code = posix_fallocate(file_, 0, bytes_);
  if (code != 0) close(file_);
  require(code == 0, "--spill ", folder, ": found no room for ", to_bytes_text(bytes_),
          ", which this plan keeps there: ", static_cast<const char*>(std::strerror(code)));
  // What is read is dropped at once: reading ahead would be for nothing.
  if (!is_direct_) posix_fadvise(file_, 0, 0, POSIX_FADV_RANDOM);
  struct statfs system = {};
  is_in_memory_ = fstatfs(file_, &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

SpillFile::~SpillFile() { close(file_); }

Status SpillFile::fail(const char* what, int code) noexcept {
  if (failed_ == nullptr) {
    failed_ = what;
    code_ = code;
  }
  return Status::failed;
}

std::string SpillFile::error() const {
  if (failed_ == nullptr) return "";
  return join_text("--spill ", folder_, ": could not ", failed_,
                   " the spill file: ", code_ == 0 ? "it ended early" : static_cast<const char*>(std::strerror(code_)));
}

void SpillFile::drop(Bytes offset, Bytes bytes, bool is_written) noexcept {
  if (is_direct_) return;
  if (is_written) {
    sync_file_range(file_, offset, bytes,
                    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  }
  posix_fadvise(file_, offset, bytes, POSIX_FADV_DONTNEED);
}

Status SpillFile::read(Bytes offset, std::span<std::byte> to) noexcept {
  while (!to.empty()) {
    const std::size_t wanted = std::min(to.size(), staging_.size());
    const auto blocks = static_cast<std::size_t>(round_up(static_cast<Bytes>(wanted), kSpillBlock));
    ssize_t got = 0;
    do got = pread(file_, staging_.data(), blocks, offset);
    while (got < 0 && errno == EINTR);
    if (got < static_cast<ssize_t>(wanted)) return fail("read", got < 0 ? errno : 0);
    drop(offset, static_cast<Bytes>(blocks), false);
    std::memcpy(to.data(), staging_.data(), wanted);
    to = to.subspan(wanted);
    offset += static_cast<Bytes>(wanted);
  }
  return Status::good;
}

Status SpillFile::write(Bytes offset, std::span<const std::byte> from) noexcept {
  while (!from.empty()) {
    const std::size_t count = std::min(from.size(), staging_.size());
    const auto blocks = static_cast<std::size_t>(round_up(static_cast<Bytes>(count), kSpillBlock));
    std::memcpy(staging_.data(), from.data(), count);
    ssize_t put = 0;
    do put = pwrite(file_, staging_.data(), blocks, offset);
    while (put < 0 && errno == EINTR);
    if (put < static_cast<ssize_t>(blocks)) return fail("write", put < 0 ? errno : 0);
    drop(offset, static_cast<Bytes>(blocks), true);
    from = from.subspan(count);
    offset += static_cast<Bytes>(count);
  }
  return Status::good;
}

}  // namespace thimble
