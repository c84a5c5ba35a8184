#include "formats/checkpoint_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/error.h"
#include "formats/hash.h"

namespace thimble {
namespace {

constexpr std::string_view kPartSuffix = ".part";

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

// Best effort: what cannot be removed now is no checkpoint any more, and is tried again by the next save.
void remove_tree(const std::string& path) noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

// First out of sight, then away: a kill in between leaves a .part, never half a checkpoint.
void retire(const std::string& path) {
  const std::string part = path + std::string(kPartSuffix);
  remove_tree(part);
  rename_path(path, part);
  remove_tree(part);
}

File lock_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail_io("open folder", folder);
  File lock(descriptor, folder);
  // Said now, not after the hours until the first save.
  if (::access(folder.c_str(), W_OK | X_OK) != 0) fail_io("write to folder", folder);
  const bool is_taken = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  // Any other failure: a file system without locks, where we do without.
  require(!is_taken, folder, ": another run is saving its checkpoints there; choose another folder");
  return lock;
}

// Removes the unfinished folder unless the save went through.
class PartFolder {
 public:
  explicit PartFolder(std::string path) : path_(std::move(path)) {
    constexpr mode_t kFolderMode = 0777;  // less the user's umask
    if (::mkdir(path_.c_str(), kFolderMode) != 0) fail_io("make folder", path_);
  }
  PartFolder(const PartFolder&) = delete;
  PartFolder& operator=(const PartFolder&) = delete;
  ~PartFolder() {
    if (!is_published_) remove_tree(path_);
  }
  const std::string& path() const { return path_; }
  void mark_published() { is_published_ = true; }

 private:
  std::string path_;
  bool is_published_ = false;
};

ManifestFile write_file(const std::string& folder, std::string_view name,
                        const std::function<void(const ByteSink& sink)>& write) {
  const File file = create_new(join_text(folder, "/", name));
  ManifestFile entry{.name = std::string(name)};
  Fnv1a hash;
  write([&](std::span<const std::byte> bytes) {
    write_at(file, entry.bytes, bytes);
    hash.add(bytes);
    entry.bytes += static_cast<Bytes>(bytes.size());
  });
  sync(file);
  entry.hash = hash.value();
  return entry;
}

}  // namespace

void CheckpointWriter::add(std::string_view name, const std::function<void(const ByteSink& sink)>& write) {
  ensure(is_checkpoint_file_name(name), "checkpoint: '", name, "' cannot name a file");
  files_.push_back(write_file(folder_, name, write));
}

void CheckpointWriter::add_text(std::string_view name, std::string_view text) {
  add(name, [&](const ByteSink& sink) { sink(bytes_of_text(text)); });
}

CheckpointStore::CheckpointStore(const std::string& folder) : folder_(folder) {
  make_folders(folder_);
  lock_ = lock_folder(folder_);
}

void CheckpointStore::save(std::int64_t iteration, const std::function<void(CheckpointWriter& writer)>& write) {
  ensure(iteration >= 0, "checkpoint: iteration ", iteration);
  remove_leftovers();
  const std::string name = join_text(folder_, "/", checkpoint_name(iteration));
  PartFolder part(name + std::string(kPartSuffix));
  CheckpointWriter writer(part.path());
  write(writer);
  const std::string manifest = to_text(Manifest{.iteration = iteration, .files = writer.files()});
  write_file(part.path(), kManifestName, [&](const ByteSink& sink) { sink(bytes_of_text(manifest)); });
  sync_folder(part.path());
  publish(part.path(), name);
  part.mark_published();
}

void CheckpointStore::publish(const std::string& part, const std::string& name) {
  // A folder cannot be renamed onto a full one. The old one keeps a name that find_newest_complete accepts until the
  // new one is in.
  const std::string old = name + ".old";
  if (exists(name)) {
    if (exists(old)) retire(old);
    rename_path(name, old);
  }
  rename_path(part, name);
  sync_folder(folder_);
  if (exists(old)) retire(old);
}

void CheckpointStore::remove_leftovers() {
  std::error_code error;
  std::vector<std::string> parts;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step-") && name.ends_with(kPartSuffix)) parts.push_back(entry.path().string());
  }
  for (const std::string& part : parts) remove_tree(part);
}

void CheckpointStore::prune(std::int64_t keep_last) {
  ensure(keep_last >= 1, "checkpoint: keep_last is ", keep_last, ", wanted at least 1");
  std::int64_t kept = 0;
  std::int64_t last_kept = -1;
  for (const CheckpointEntry& entry : list_checkpoints(folder_)) {
    const bool has_successor = entry.iteration == last_kept;  // replaced by one of the same iteration that is complete
    if (kept == keep_last || has_successor) {
      retire(entry.path);
    } else if (is_complete(entry, Check::sizes)) {
      ++kept;
      last_kept = entry.iteration;
    }
  }
  sync_folder(folder_);
}

}  // namespace thimble
