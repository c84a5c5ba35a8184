// A folder of checkpoints, one folder each: step-000000500/. A checkpoint is written as step-000000500.part, file by
// file, its manifest last, all brought to disk, and then renamed: killed at any moment, what was complete stays
// complete. Knows files and names, nothing of what is trained.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/byte_source.h"
#include "formats/file.h"
#include "formats/manifest.h"

namespace thimble {

struct Checkpoint {
  std::string path;  // of its folder
  Manifest manifest;

  std::string path_of(std::string_view file) const;  // UserError if the manifest does not list the file
};

// sizes: every file is there with its size. hashes: its content too; reads every byte, in pieces.
enum class Check : std::uint8_t { sizes, hashes };

struct SkippedCheckpoint {
  std::string path;
  std::string reason;
};

struct FoundCheckpoint {
  std::optional<Checkpoint> newest;
  std::vector<SkippedCheckpoint> skipped;  // newer than what was found, but not whole
};

// A folder that does not exist holds no checkpoints. Takes no lock and changes nothing.
FoundCheckpoint find_newest_complete(const std::string& folder, Check check);
// One checkpoint by its own path; UserError says what is missing.
Checkpoint open_checkpoint(const std::string& path, Check check);

class CheckpointWriter {
 public:
  explicit CheckpointWriter(std::string folder) : folder_(std::move(folder)) {}

  // `write` pours the content into the sink, front to back.
  void add(std::string_view name, const std::function<void(const ByteSink& sink)>& write);
  void add_text(std::string_view name, std::string_view text);

  const std::vector<ManifestFile>& files() const { return files_; }

 private:
  std::string folder_;
  std::vector<ManifestFile> files_;
};

class CheckpointStore {
 public:
  // Makes the folder if absent and keeps other stores, also of other processes, from it.
  explicit CheckpointStore(const std::string& folder);

  // On failure (disk full, say) nothing of the new checkpoint stays and the older ones are untouched.
  // An iteration saved before is replaced, without a moment in which neither is there.
  void save(std::int64_t iteration, const std::function<void(CheckpointWriter& writer)>& write);

  // Removes all but the newest `keep_last` complete checkpoints; what is broken goes when it is older than those.
  void prune(std::int64_t keep_last);

 private:
  void remove_leftovers();
  void publish(const std::string& part, const std::string& name);

  std::string folder_;
  File lock_;
};

std::string checkpoint_name(std::int64_t iteration);  // "step-000000500"

// What the folder holds that is named as a checkpoint, newest first, complete or not. A path may end in ".old": its
// successor of the same iteration was about to take the name.
struct CheckpointEntry {
  std::string path;
  std::int64_t iteration = 0;
  bool is_replaced = false;
};
std::vector<CheckpointEntry> list_checkpoints(const std::string& folder);
bool is_complete(const CheckpointEntry& entry, Check check);

}  // namespace thimble
