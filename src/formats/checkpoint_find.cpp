#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "formats/checkpoint_store.h"
#include "formats/hash.h"

namespace thimble {
namespace {

constexpr std::string_view kReplacedSuffix = ".old";

std::optional<CheckpointEntry> parse_entry(const std::string& folder, std::string_view name) {
  constexpr std::string_view kPrefix = "step-";
  std::string_view stem = name;
  const bool is_replaced = stem.ends_with(kReplacedSuffix);
  if (is_replaced) stem.remove_suffix(kReplacedSuffix.size());
  if (!stem.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = stem.substr(kPrefix.size());
  std::int64_t iteration = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), iteration);
  // One spelling for each iteration: step-5 is not ours.
  if (error != std::errc{} || end != digits.data() + digits.size() || iteration < 0 ||
      checkpoint_name(iteration) != stem)
    return std::nullopt;
  return CheckpointEntry{join_text(folder, "/", name), iteration, is_replaced};
}

std::uint64_t hash_of(const File& file, Bytes bytes) {
  Fnv1a hash;
  std::vector<std::byte> chunk(static_cast<std::size_t>(std::min(kChunkBytes, bytes)));
  for (Bytes offset = 0; offset < bytes; offset += kChunkBytes) {
    const auto piece = std::span(chunk).first(static_cast<std::size_t>(std::min(kChunkBytes, bytes - offset)));
    read_at(file, offset, piece);
    hash.add(piece);
  }
  return hash.value();
}

void check_file(const std::string& folder, const ManifestFile& wanted, Check check) {
  const File file = open_own_to_read(join_text(folder, "/", wanted.name));
  const Bytes found = size_of(file);
  require(found == wanted.bytes, file.path(), ": has ", found, " bytes, the manifest wants ", wanted.bytes);
  if (check == Check::sizes) return;
  require(hash_of(file, found) == wanted.hash, file.path(), ": its content is not what was saved: the hashes differ");
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);  // not a link to one
}

struct Outcome {
  std::optional<Checkpoint> checkpoint;
  std::string reason;  // if there is none
};

// The border to files that a crash or a stranger may have damaged: what fails here is an outcome, with its reason.
Outcome read_entry(const CheckpointEntry& entry, Check check) {
  try {
    Checkpoint checkpoint = open_checkpoint(entry.path, check);
    require(checkpoint.manifest.iteration == entry.iteration, entry.path, ": the manifest is of iteration ",
            checkpoint.manifest.iteration);
    return {.checkpoint = std::move(checkpoint), .reason = {}};
  } catch (const UserError& error) {
    return {.checkpoint = std::nullopt, .reason = error.what()};
  }
}

}  // namespace

std::string checkpoint_name(std::int64_t iteration) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "step-%09lld", static_cast<long long>(iteration));
  return buffer;
}

std::vector<CheckpointEntry> list_checkpoints(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(folder.c_str()), ::closedir);
  if (stream == nullptr && errno == ENOENT) return {};
  if (stream == nullptr) fail_io("list folder", folder);
  std::vector<CheckpointEntry> entries;
  while (true) {
    errno = 0;
    const dirent* found = ::readdir(stream.get());
    if (found == nullptr && errno != 0) fail_io("list folder", folder);
    if (found == nullptr) break;
    if (auto entry = parse_entry(folder, found->d_name)) entries.push_back(std::move(*entry));
  }
  std::sort(entries.begin(), entries.end(), [](const CheckpointEntry& a, const CheckpointEntry& b) {
    return a.iteration != b.iteration ? a.iteration > b.iteration : a.is_replaced < b.is_replaced;
  });
  return entries;
}

Checkpoint open_checkpoint(const std::string& path, Check check) {
  require(is_folder(path), path, ": is not a folder");
  const File file = open_own_to_read(join_text(path, "/", kManifestName));
  Checkpoint checkpoint{.path = path, .manifest = parse_manifest(file_source(file))};
  for (const ManifestFile& wanted : checkpoint.manifest.files) check_file(path, wanted, check);
  return checkpoint;
}

bool is_complete(const CheckpointEntry& entry, Check check) { return read_entry(entry, check).checkpoint.has_value(); }

FoundCheckpoint find_newest_complete(const std::string& folder, Check check) {
  FoundCheckpoint result;
  for (const CheckpointEntry& entry : list_checkpoints(folder)) {
    Outcome outcome = read_entry(entry, check);
    result.newest = std::move(outcome.checkpoint);
    if (result.newest) break;
    result.skipped.push_back({entry.path, std::move(outcome.reason)});
  }
  return result;
}

std::string Checkpoint::path_of(std::string_view file) const {
  const bool is_listed = std::any_of(manifest.files.begin(), manifest.files.end(),
                                     [&](const ManifestFile& listed) { return listed.name == file; });
  require(is_listed, path, ": holds no file '", file, "'");
  return join_text(path, "/", file);
}

}  // namespace thimble
