#include "formats/manifest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <optional>

#include "base/error.h"
#include "formats/json_reader.h"
#include "formats/json_text.h"

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

class ManifestEvents final : public JsonEvents {
 public:
  explicit ManifestEvents(std::string_view source) : source_(source) {}

  void on_begin_object() override {
    require(++depth_ == 1 || (depth_ == 2 && is_in_list_), source_, ": an object stands where none is wanted");
    if (depth_ == 2) file_ = {};
  }
  void on_end_object() override {
    if (--depth_ == 1) finish_file();
  }
  void on_begin_array() override {
    require(depth_ == 1 && key_ == "files" && !is_in_list_, source_, ": a list stands where none is wanted");
    is_in_list_ = true;
  }
  void on_end_array() override { is_in_list_ = false; }
  void on_key(std::string_view key) override;
  void on_text(std::string_view text) override;
  void on_integer(std::int64_t value) override;

  Manifest finish();

 private:
  // The keys of each level in the order in which they are written: a manifest has one form only.
  static constexpr std::array<std::string_view, 4> kTopKeys = {"format", "version", "iteration", "files"};
  static constexpr std::array<std::string_view, 3> kFileKeys = {"name", "bytes", "fnv1a64"};

  void finish_file();
  [[noreturn]] void refuse(std::string_view found) const override {
    fail_user(join_text(source_, ": \"", key_, "\" is ", found, ", which is not wanted there"));
  }

  std::string_view source_;
  int depth_ = 0;
  bool is_in_list_ = false;
  std::size_t top_keys_ = 0;
  std::size_t file_keys_ = 0;
  std::string_view key_;  // points into the tables above
  ManifestFile file_;
  Manifest manifest_;
};

void ManifestEvents::on_key(std::string_view key) {
  const std::span<const std::string_view> wanted =
      depth_ == 1 ? std::span<const std::string_view>(kTopKeys) : std::span<const std::string_view>(kFileKeys);
  std::size_t& count = depth_ == 1 ? top_keys_ : file_keys_;
  require(count < wanted.size() && wanted[count] == key, source_, ": found key ", json_quoted(key.substr(0, 64)),
          ", wanted ", count < wanted.size() ? wanted[count] : "the end of the object");
  key_ = wanted[count++];
}

void ManifestEvents::on_text(std::string_view text) {
  if (depth_ == 1 && key_ == "format") {
    require(text == kFormat, source_, ": format is ", json_quoted(text.substr(0, 64)), ", wanted ", kFormat);
  } else if (depth_ == 2 && key_ == "name") {
    require(is_checkpoint_file_name(text), source_, ": ", json_quoted(text.substr(0, 64)), " cannot name a file");
    file_.name = text;
  } else if (depth_ == 2 && key_ == "fnv1a64") {
    const std::optional<std::uint64_t> hash = parse_hash(text);
    require(hash.has_value(), source_, ": fnv1a64 must be 16 hexadecimal digits");
    file_.hash = *hash;
  } else {
    refuse("a text");
  }
}

void ManifestEvents::on_integer(std::int64_t value) {
  if (depth_ == 1 && key_ == "version") {
    require(value == kVersion, source_, ": is of version ", value, ", this build reads version ", kVersion);
  } else if (depth_ == 1 && key_ == "iteration") {
    require(value >= 0, source_, ": iteration is ", value, ", wanted zero or more");
    manifest_.iteration = value;
  } else if (depth_ == 2 && key_ == "bytes") {
    require(value >= 0, source_, ": bytes is ", value, ", wanted zero or more");
    file_.bytes = value;
  } else {
    refuse("an integer");
  }
}

void ManifestEvents::finish_file() {
  require(file_keys_ == kFileKeys.size(), source_, ": a file must state name, bytes and fnv1a64");
  require(manifest_.files.size() < kMaxFiles, source_, ": lists more than ", kMaxFiles, " files");
  const bool is_known = std::any_of(manifest_.files.begin(), manifest_.files.end(),
                                    [&](const ManifestFile& file) { return file.name == file_.name; });
  require(!is_known, source_, ": lists ", file_.name, " twice");
  manifest_.files.push_back(file_);
  file_keys_ = 0;
}

Manifest ManifestEvents::finish() {
  require(top_keys_ == kTopKeys.size(), source_, ": must state format, version, iteration and files");
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
