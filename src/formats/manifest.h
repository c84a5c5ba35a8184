// The list of a checkpoint's files, written last: a checkpoint is complete when all its files agree with the manifest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/byte_source.h"

namespace thimble {

constexpr std::string_view kManifestName = "complete.json";

struct ManifestFile {
  std::string name;
  Bytes bytes = 0;
  std::uint64_t hash = 0;  // Fnv1a of the content
  friend bool operator==(const ManifestFile&, const ManifestFile&) = default;
};

struct Manifest {
  std::int64_t iteration = 0;
  std::vector<ManifestFile> files;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// A plain name inside the checkpoint's folder: letters, digits, '.', '_', '-'; no leading dot, not the manifest's own.
bool is_checkpoint_file_name(std::string_view name);

std::string to_text(const Manifest& manifest);
Manifest parse_manifest(const ByteSource& source);  // UserError for anything that to_text would not write

}  // namespace thimble
