#include "train/run_record.h"

#include <charconv>

#include "base/error.h"
#include "formats/publish.h"
#include "train/build_id.h"
#include "train/run_fields.h"

namespace thimble {
namespace {

constexpr std::int64_t kVersion = 1;

std::string_view name_of(Master master) { return master == Master::f32 ? "f32" : "none"; }
std::string_view name_of(SparseOptions::Method method) {
  return method == SparseOptions::Method::dynamic ? "dsr" : "static";
}

template <typename List>
std::string list_text(const List& list) {
  std::string text;
  for (const auto& item : list) text += join_text(text.empty() ? "" : ",", item);
  return text;
}

// Lists are texts with commas, and an absent budget is zero bytes: the object stays flat.
std::string json_of(const std::string& value) { return json_quoted(value); }
std::string json_of(std::int64_t value) { return to_text(value); }
std::string json_of(int value) { return to_text(value); }
std::string json_of(std::uint64_t value) { return json_quoted(to_text(value)); }  // JSON readers round above 2^53
std::string json_of(double value) { return to_text(value); }
std::string json_of(bool value) { return value ? "true" : "false"; }
std::string json_of(const Shape& value) { return json_quoted(list_text(value.dims())); }
std::string json_of(const std::vector<std::int64_t>& value) { return json_quoted(list_text(value)); }
std::string json_of(const std::set<std::string>& value) { return json_quoted(list_text(value)); }
std::string json_of(const std::optional<Bytes>& value) { return to_text(value.value_or(0)); }
template <typename Word>
requires std::is_enum_v<Word> std::string json_of(Word value) { return json_quoted(name_of(value)); }

// Reads one field; every failure names file, key and found text.
class FieldReader {
 public:
  explicit FieldReader(const FlatJson& json) : json_(json) {}

  void operator()(std::string_view key, Weight, std::string& value) { value = json_.text(key); }
  void operator()(std::string_view key, Weight, std::int64_t& value) { value = json_.integer(key); }
  void operator()(std::string_view key, Weight, double& value) {
    if (!is_older_than(key)) value = json_.number(key);
  }
  void operator()(std::string_view key, Weight, bool& value) { value = json_.boolean(key); }
  void operator()(std::string_view key, Weight, int& value) {
    const std::int64_t found = json_.integer(key);
    check(found >= 1 && found <= kMostThreads, key, to_text(found));
    value = static_cast<int>(found);
  }
  void operator()(std::string_view key, Weight, std::uint64_t& value) {
    value = parse<std::uint64_t>(key, json_.text(key));
  }
  void operator()(std::string_view key, Weight, Recompute& value) {
    // Runs recorded before strategies had names say whether there is recomputation at all.
    if (json_.is_boolean(key)) {
      value = json_.boolean(key) ? Recompute::automatic : Recompute::none;
    } else {
      read_word(key, value);
    }
  }
  void operator()(std::string_view key, Weight, CostSource& value) {
    if (!is_older_than(key)) read_word(key, value);
  }
  void operator()(std::string_view key, Weight, Shape& value) { value = Shape(integers(key)); }
  void operator()(std::string_view key, Weight, std::vector<std::int64_t>& value) { value = integers(key); }
  void operator()(std::string_view key, Weight, std::set<std::string>& value) {
    for (const std::string_view item : items(key)) value.emplace(item);
  }
  void operator()(std::string_view key, Weight, std::optional<Bytes>& value) {
    const Bytes found = json_.integer(key);
    value = found > 0 ? std::optional(found) : std::nullopt;
  }
  template <typename Word>
  requires std::is_enum_v<Word>
  void operator()(std::string_view key, Weight, Word& value) { read_word(key, value); }

 private:
  static constexpr int kMostThreads = 4096, kMostWords = 8;

  template <typename Word>
  void read_word(std::string_view key, Word& value) const {
    // Every word of ours is one of the first few values of its type.
    for (int candidate = 0; candidate < kMostWords; ++candidate) {
      value = static_cast<Word>(candidate);
      if (name_of(value) == json_.text(key)) return;
    }
    check(false, key, json_.text(key));
  }

  // A run from before there was such an option did without it: the default.
  bool is_older_than(std::string_view key) const { return (key == "clip_norm" || key == "cost") && !json_.has(key); }

  void check(bool ok, std::string_view key, std::string_view found) const {
    require(ok, json_.name(), ": '", key, "' is '", found, "', which makes no sense");
  }

  template <typename Integer>
  Integer parse(std::string_view key, std::string_view text) const {
    Integer value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    check(error == std::errc{} && end == text.data() + text.size(), key, text);
    return value;
  }

  std::vector<std::string_view> items(std::string_view key) const {
    std::vector<std::string_view> result;
    std::string_view rest = json_.text(key);
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      result.push_back(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return result;
  }

  std::vector<std::int64_t> integers(std::string_view key) const {
    std::vector<std::int64_t> result;
    for (const std::string_view item : items(key)) result.push_back(parse<std::int64_t>(key, item));
    return result;
  }

  const FlatJson& json_;
};

struct FieldText {
  std::string_view name;
  Weight weight;
  std::string text;
};

std::vector<FieldText> texts_of(const RunRecord& record) {
  std::vector<FieldText> texts;
  for_each_field(record, [&](std::string_view name, Weight weight, const auto& value) {
    texts.push_back({name, weight, json_of(value)});
  });
  return texts;
}

}  // namespace

RunRecord record_of(const TrainOptions& options, const DatasetInfo& data, std::int64_t microbatch) {
  // A list of files with one name changed is another data set, and a resume another run.
  const std::string name = data.contents.empty() ? data.name : join_text(data.name, " #", data.contents);
  return {.options = options, .data = name, .microbatch = microbatch, .build = build_id()};
}

void write_record(const RunRecord& record, JsonObject& object) {
  object.integer("version", kVersion);
  for (const FieldText& field : texts_of(record)) object.raw(field.name, field.text);
}

RunRecord read_record(const FlatJson& json) {
  const std::int64_t version = json.integer("version");
  require(version == kVersion, json.name(), ": is of version ", version, ", this build reads version ", kVersion);
  RunRecord record;
  FieldReader reader(json);
  for_each_field(record, reader);
  const CompileRequest& request = record.options.compile;
  require(request.batch >= 1 && record.microbatch >= 1 && record.microbatch <= request.batch, json.name(),
          ": found batch ", request.batch, " and microbatch ", record.microbatch, ", wanted 1 <= microbatch <= batch");
  record.options.learning_rate.iterations = record.options.iterations;
  return record;
}

void publish_run(const RunRecord& record, const std::string& folder) {
  JsonObject object;
  write_record(record, object);
  Publication file(join_text(folder, "/", kRunFile));
  file.append(bytes_of_text(object.to_string() + "\n"));
  file.publish();
}

RunRecord read_run(const std::string& folder) {
  const File file = open_own_to_read(join_text(folder, "/", kRunFile));
  return read_record(FlatJson(file_source(file)));
}

Differences compare(const RunRecord& saved, const RunRecord& asked) {
  const std::vector<FieldText> was = texts_of(saved), is = texts_of(asked);
  Differences differences;
  for (std::size_t i = 0; i < was.size(); ++i) {
    if (was[i].text == is[i].text || was[i].weight == Weight::free) continue;
    auto& list = was[i].weight == Weight::forbidden ? differences.forbidden : differences.noted;
    list.push_back({std::string(was[i].name), was[i].text, is[i].text});
  }
  return differences;
}

std::string to_text(const std::vector<Difference>& differences) {
  std::string text;
  for (const Difference& difference : differences) {
    text += join_text(text.empty() ? "" : "; ", difference.name, " was ", difference.was, ", is ", difference.is);
  }
  return text;
}

}  // namespace thimble
