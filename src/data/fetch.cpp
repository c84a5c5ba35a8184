#include "data/fetch.h"

#include <unistd.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "base/sha256.h"
#include "data/child_process.h"
#include "data/file.h"

namespace thimble {
namespace {

constexpr std::int64_t kSlackBytes = 1 << 20;  // a longer file than promised is noticed, not written without end
constexpr int kCurlHasNoRanges = 33;           // curl: the server cannot go on in the middle

std::vector<std::string> words_for(const std::string& program, const std::string& url, const std::string& path,
                                   bool shows_progress) {
  if (program.ends_with("wget")) {
    std::vector<std::string> words = {program, "--continue", "--tries=3", "--timeout=30", "--no-verbose"};
    if (shows_progress) words.emplace_back("--show-progress");
    words.insert(words.end(), {"--output-document=" + path, url});
    return words;
  }
  std::vector<std::string> words = {
      program,       "--fail",   "--location", "--proto",           "=http,https", "--proto-redir",
      "=http,https", "--retry",  "3",          "--connect-timeout", "30",          "--continue-at",
      "-",           "--output", path};
  if (shows_progress) {
    words.emplace_back("--progress-bar");
  } else {
    words.insert(words.end(), {"--silent", "--show-error"});
  }
  words.push_back(url);
  return words;
}

std::int64_t size_at(const std::string& path) { return is_file(path) ? InputFile(path).size() : 0; }

std::string sum_of(const std::string& path) {
  const InputFile file(path);
  Sha256 sum;
  std::vector<std::uint8_t> piece(65536);
  for (std::int64_t at = 0; at < file.size();) {
    const auto size = std::min(file.size() - at, static_cast<std::int64_t>(piece.size()));
    const auto part = std::span(piece).first(static_cast<std::size_t>(size));
    file.read_at(at, part);
    sum.add(part);
    at += size;
  }
  return sum.finish();
}

struct ProgramEnd {
  std::string program;
  ChildEnd end;
};

ProgramEnd run_first(const std::string& url, const RemoteFile& file, const std::string& path,
                     const FetchOptions& options) {
  std::string tried;
  for (const std::string& program : options.programs) {
    const auto end = run_child(words_for(program, url, path, options.shows_progress), file.bytes + kSlackBytes);
    if (end) return {program, *end};
    tried += join_text(tried.empty() ? "" : " nor ", program);
  }
  fail_user(join_text(url, ": found neither ", tried,
                      ", wanted one of them to fetch it with: install one (apt install ",
                      options.programs.empty() ? "curl" : options.programs.front(), ")"));
}

void download(const std::string& url, const RemoteFile& file, const std::string& path, const FetchOptions& options) {
  const std::int64_t before = size_at(path);
  ProgramEnd result = run_first(url, file, path, options);
  if (result.end.code == kCurlHasNoRanges && before > 0) {
    ::unlink(path.c_str());
    result = run_first(url, file, path, options);
  }
  if (result.end.is_good()) return;
  const bool is_signal = result.end.signal != 0;
  const std::int64_t size = size_at(path);
  fail_user(join_text(url, ": ", result.program, is_signal ? " was ended by signal " : " failed with code ",
                      is_signal ? result.end.signal : result.end.code, " with ", size, " of ", file.bytes, " bytes",
                      size > 0 ? "; they are kept: run the same command again to go on" : ""));
}

}  // namespace

void fetch(const std::string& url, const RemoteFile& file, const std::string& path, const FetchOptions& options) {
  require(url.starts_with("http://") || url.starts_with("https://"), "found address '", url,
          "', wanted one that begins with https:// or http://");
  for (;;) {
    const std::int64_t before = size_at(path);
    if (before > file.bytes) ::unlink(path.c_str());
    if (before != file.bytes) download(url, file, path, options);
    const std::int64_t size = size_at(path);
    const std::string sum = size == file.bytes ? sum_of(path) : std::string();
    if (sum == file.sha256) return;
    ::unlink(path.c_str());
    // What an earlier attempt left may be at fault; a file that came whole is not asked for again.
    const bool was_begun = before > 0 && before <= file.bytes;
    require(was_begun, url, ": found ", size, " bytes", sum.empty() ? "" : " with SHA-256 ", sum, ", wanted ",
            file.bytes, " with ", file.sha256, "; what came was thrown away");
  }
}

}  // namespace thimble
