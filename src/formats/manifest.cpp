#include "formats/manifest.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>

#include "base/error.h"
#include "formats/listing_events.h"

namespace thimble {
namespace {

constexpr std::string_view kFormat = "thimble-checkpoint";
constexpr std::int64_t kVersion = 1;
constexpr Bytes kMaxManifestBytes = 64 * kKiB;
constexpr std::size_t kMaxFiles = 256;
constexpr std::size_t kMaxNameBytes = 128;
constexpr std::size_t kHashDigits = 16;

std::string hash_text(std::uint64_t hash) {
  char buffer[kHashDigits + 1];
  std::snprintf(buffer, sizeof(buffer), "%016llx", static_cast<unsigned long long>(hash));
  return buffer;
}

std::optional<std::uint64_t> parse_hash(std::string_view text) {
  std::uint64_t hash = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  const bool is_whole = error == std::errc{} && end == text.data() + text.size();
  // Comparing with our own text also refuses capitals, which from_chars takes.
  return is_whole && hash_text(hash) == text ? std::optional(hash) : std::nullopt;
}

constexpr std::string_view kTopKeys[] = {"format", "version", "iteration", "files"};
constexpr std::string_view kFileKeys[] = {"name", "bytes", "fnv1a64"};

class ManifestEvents final : public ListingEvents {
 public:
  explicit ManifestEvents(std::string_view source) : ListingEvents(source, kTopKeys, kFileKeys) {}

  void on_text(std::string_view text) override;
  void on_integer(std::int64_t value) override;

  Manifest finish();

 private:
  void begin_entry() override { file_ = {}; }
  void finish_entry() override;

  ManifestFile file_;
  Manifest manifest_;
};

void ManifestEvents::on_text(std::string_view text) {
  if (is_top("format")) {
    require(text == kFormat, source(), ": format is ", json_quoted(text.substr(0, kShown)), ", wanted ", kFormat);
  } else if (is_entry("name")) {
    require(is_checkpoint_file_name(text), source(), ": ", json_quoted(text.substr(0, kShown)), " cannot name a file");
    file_.name = text;
  } else if (is_entry("fnv1a64")) {
    const std::optional<std::uint64_t> hash = parse_hash(text);
    require(hash.has_value(), source(), ": fnv1a64 must be 16 hexadecimal digits");
    file_.hash = *hash;
  } else {
    refuse("a text");
  }
}

void ManifestEvents::on_integer(std::int64_t value) {
  if (is_top("version")) {
    require(value == kVersion, source(), ": is of version ", value, ", this build reads version ", kVersion);
  } else if (is_top("iteration")) {
    require(value >= 0, source(), ": iteration is ", value, ", wanted zero or more");
    manifest_.iteration = value;
  } else if (is_entry("bytes")) {
    require(value >= 0, source(), ": bytes is ", value, ", wanted zero or more");
    file_.bytes = value;
  } else {
    refuse("an integer");
  }
}

void ManifestEvents::finish_entry() {
  require(is_whole_entry(), source(), ": a file must state name, bytes and fnv1a64");
  require(manifest_.files.size() < kMaxFiles, source(), ": lists more than ", kMaxFiles, " files");
  const bool is_known = std::any_of(manifest_.files.begin(), manifest_.files.end(),
                                    [&](const ManifestFile& file) { return file.name == file_.name; });
  require(!is_known, source(), ": lists ", file_.name, " twice");
  manifest_.files.push_back(file_);
}

Manifest ManifestEvents::finish() {
  require(is_whole(), source(), ": must state format, version, iteration and files");
  return std::move(manifest_);
}

}  // namespace

bool is_checkpoint_file_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= kMaxNameBytes && name.front() != '.' && name != kManifestName &&
         std::all_of(name.begin(), name.end(), is_plain);
}

std::string to_text(const Manifest& manifest) {
  ensure(manifest.files.size() <= kMaxFiles, "manifest: ", manifest.files.size(), " files, at most ", kMaxFiles);
  std::string files = "[";
  for (const ManifestFile& file : manifest.files) {
    JsonObject entry;
    entry.text("name", file.name).integer("bytes", file.bytes).text("fnv1a64", hash_text(file.hash));
    files += (files.size() > 1 ? "," : "") + entry.to_string();
  }
  JsonObject object;
  object.text("format", kFormat).integer("version", kVersion).integer("iteration", manifest.iteration);
  return object.raw("files", files + "]").to_string() + "\n";
}

Manifest parse_manifest(const ByteSource& source) {
  require(source.size <= kMaxManifestBytes, source.name, ": takes ", source.size, " bytes, at most ", kMaxManifestBytes,
          " are possible");
  ManifestEvents events(source.name);
  read_json(source, 0, source.size, {.depth = 3, .token_bytes = kMaxManifestBytes}, events);
  return events.finish();
}

}  // namespace thimble
