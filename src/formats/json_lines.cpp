#include "formats/json_lines.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "base/error.h"
#include "formats/json_reader.h"

namespace thimble {
namespace {

// Looks for the integer "iteration" of the outermost object; everything else may be any JSON.
class IterationFinder final : public JsonEvents {
 public:
  std::optional<std::int64_t> iteration() const { return iteration_; }

  void on_begin_object() override { enter(); }
  void on_end_object() override { leave(); }
  void on_begin_array() override { enter(); }
  void on_end_array() override { leave(); }
  void on_key(std::string_view key) override { is_next_ = depth_ == 1 && key == "iteration"; }
  void on_text(std::string_view) override { is_next_ = false; }
  void on_number(double) override { is_next_ = false; }
  void on_boolean(bool) override { is_next_ = false; }
  void on_null() override { is_next_ = false; }
  void on_integer(std::int64_t value) override {
    if (is_next_) iteration_ = value;
    is_next_ = false;
  }

 private:
  void enter() {
    ++depth_;
    is_next_ = false;
  }
  void leave() { --depth_; }
  [[noreturn]] void refuse(std::string_view found) const override { fail_internal(join_text("no use for ", found)); }

  int depth_ = 0;
  bool is_next_ = false;
  std::optional<std::int64_t> iteration_;
};

struct Line {
  bool is_readable = false;
  std::optional<std::int64_t> iteration;
};

// A border to text that anyone may have edited: a line that is no JSON is an outcome here, not an end.
Line read_line(std::string_view text) {
  IterationFinder finder;
  try {
    const JsonLimits limits{.depth = 16, .token_bytes = kMaxLineBytes};
    read_json(memory_source(bytes_of_text(text), "line"), 0, static_cast<Bytes>(text.size()), limits, finder);
  } catch (const UserError&) {
    return {};
  }
  return {.is_readable = true, .iteration = finder.iteration()};
}

// Calls visit(line, end) for every whole line; `end` is the offset after it. Lines too long for us come cut off.
void for_each_line(const ByteSource& source, const std::function<void(std::string_view line, Bytes end)>& visit) {
  std::vector<char> chunk(static_cast<std::size_t>(std::min(kChunkBytes, source.size)));
  std::string line;
  for (Bytes begin = 0; begin < source.size; begin += kChunkBytes) {
    const auto piece = std::span(chunk).first(static_cast<std::size_t>(std::min(kChunkBytes, source.size - begin)));
    source.read(begin, std::as_writable_bytes(piece));
    std::string_view rest(piece.data(), piece.size());
    for (std::size_t end = rest.find('\n'); !rest.empty(); end = rest.find('\n')) {
      const std::size_t room = static_cast<std::size_t>(kMaxLineBytes + 1) - line.size();
      line += rest.substr(0, std::min(end, room));
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
      visit(line, begin + static_cast<Bytes>(piece.size() - rest.size()));
      line.clear();
    }
  }
}

}  // namespace

JsonLinesWriter::JsonLinesWriter(const std::string& path) : file_(open_to_read_write(path)), size_(size_of(file_)) {
  cut_torn_line();
}

void JsonLinesWriter::cut_torn_line() {
  const Bytes begin = std::max<Bytes>(0, size_ - kMaxLineBytes);
  std::string tail(static_cast<std::size_t>(size_ - begin), '\0');
  read_at(file_, begin, std::as_writable_bytes(std::span(tail)));
  const std::size_t last_end = tail.rfind('\n');
  require(last_end != std::string::npos || begin == 0, file_.path(), ": its last line takes more than ", kMaxLineBytes,
          " bytes; this is not a log of ours, nothing was changed");
  const std::string_view torn = std::string_view(tail).substr(last_end == std::string::npos ? 0 : last_end + 1);
  // A torn line of ours starts with '{', or is a run of zeros left by the file system; all else is someone's own text.
  require(torn.empty() || torn.front() == '{' || torn.front() == '\0', file_.path(),
          ": ends with text that is not the start of a JSON object; this is not a log of ours, nothing was changed");
  if (torn.empty()) return;
  size_ -= static_cast<Bytes>(torn.size());
  resize(file_, size_);
}

void JsonLinesWriter::append(std::string_view object) {
  ensure(object.starts_with('{') && object.ends_with('}') && object.find('\n') == std::string_view::npos &&
             static_cast<Bytes>(object.size()) < kMaxLineBytes,
         "json lines: not one object on one line of at most ", kMaxLineBytes, " bytes: ", object.substr(0, 64));
  const std::string line = join_text(object, "\n");
  // Without its last byte a line is torn and cut off by the next opening, so a failure half-way leaves no false line.
  write_at(file_, size_, bytes_of_text(line));
  size_ += static_cast<Bytes>(line.size());
}

LogCut JsonLinesWriter::truncate_after(std::int64_t iteration) {
  LogCut cut;
  Bytes kept_bytes = 0;
  bool is_past = false;
  for_each_line(file_source(file_), [&](std::string_view text, Bytes end) {
    const Line line = is_past ? Line{} : read_line(text);
    is_past = is_past || (line.iteration && *line.iteration > iteration);
    if (is_past) {
      ++cut.lines_removed;
      return;
    }
    ++cut.lines_kept;
    cut.lines_unreadable += line.is_readable ? 0 : 1;
    kept_bytes = end;
  });
  cut.bytes_removed = size_ - kept_bytes;
  if (cut.bytes_removed == 0) return cut;
  resize(file_, kept_bytes);
  size_ = kept_bytes;
  sync();
  return cut;
}

}  // namespace thimble
