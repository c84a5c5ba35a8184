// Any bytes as a checkpoint's manifest: refused with a UserError, or plain names that are written and read the same.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "formats/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thimble;
  try {
    const Manifest manifest = parse_manifest(memory_source(std::as_bytes(std::span(data, size)), "input"));
    for (const ManifestFile& file : manifest.files) ensure(is_checkpoint_file_name(file.name), "bad name");
    const std::string text = to_text(manifest);
    ensure(parse_manifest(memory_source(bytes_of_text(text), "own text")) == manifest, "does not read back the same");
  } catch (const UserError&) {
  }
  return 0;
}
