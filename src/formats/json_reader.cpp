#include "formats/json_reader.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace thimble {
namespace {

// A moving window on the source. It counts the bytes since the last event, because the library gathers a token whole
// before it shows it to anyone.
class Window {
 public:
  Window(const ByteSource& source, Bytes begin, Bytes end, Bytes token_bytes)
      : source_(source), position_(begin), end_(end), token_bytes_(token_bytes), event_(begin), chunk_begin_(begin) {}

  bool at_end() const { return position_ >= end_; }
  Bytes position() const { return position_; }
  void note_event() { event_ = position_; }

  char current() {
    if (position_ >= chunk_begin_ + static_cast<Bytes>(chunk_.size())) fill();
    return chunk_[static_cast<std::size_t>(position_ - chunk_begin_)];
  }

  void advance() {
    ++position_;
    require(position_ - event_ <= token_bytes_, source_.name, ": JSON at byte ", event_, ": one token takes more than ",
            token_bytes_, " bytes");
  }

  void skip_white_space() {
    for (; !at_end(); ++position_) {
      const char found = current();
      require(found == ' ' || found == '\n' || found == '\r' || found == '\t', source_.name,
              ": found more text at byte ", position_, ", after the end of the JSON object");
    }
  }

 private:
  void fill() {
    chunk_begin_ = position_;
    chunk_.resize(static_cast<std::size_t>(std::min(kChunkBytes, end_ - position_)));
    source_.read(chunk_begin_, std::as_writable_bytes(std::span(chunk_)));
  }

  const ByteSource& source_;
  Bytes position_;
  Bytes end_;
  Bytes token_bytes_;
  Bytes event_;
  Bytes chunk_begin_;
  std::vector<char> chunk_;
};

// The library wants a pair of iterators; a null window is the end.
struct WindowIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  Window* window = nullptr;

  char operator*() const { return window->current(); }
  WindowIterator& operator++() {
    window->advance();
    return *this;
  }
  bool is_end() const { return window == nullptr || window->at_end(); }
  friend bool operator==(const WindowIterator& a, const WindowIterator& b) { return a.is_end() == b.is_end(); }
};

// Hands the library's events on to ours. The names are the library's; `true` asks for more.
class Bridge {
 public:
  Bridge(const ByteSource& source, Bytes begin, Window& window, const JsonLimits& limits, JsonEvents& events)
      : source_(source), begin_(begin), window_(window), limits_(limits), events_(events) {}

  bool null() {
    return pass([&] { events_.on_null(); });
  }
  bool boolean(bool value) {
    return pass([&] { events_.on_boolean(value); });
  }
  bool number_integer(std::int64_t value) {
    return pass([&] { events_.on_integer(value); });
  }
  bool number_unsigned(std::uint64_t value) {
    constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
    if (value > kMax) return number_float(static_cast<double>(value), {});
    return number_integer(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string&) {
    return pass([&] { events_.on_number(value); });
  }
  bool string(std::string& value) {
    return pass([&] { events_.on_text(value); });
  }
  bool binary(nlohmann::json::binary_t&) { return false; }  // does not occur in JSON text
  bool key(std::string& value) {
    return pass([&] { events_.on_key(value); });
  }
  bool start_object(std::size_t) {
    return enter([&] { events_.on_begin_object(); });
  }
  bool end_object() {
    return leave([&] { events_.on_end_object(); });
  }
  bool start_array(std::size_t) {
    return enter([&] { events_.on_begin_array(); });
  }
  bool end_array() {
    return leave([&] { events_.on_end_array(); });
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    fail_user(join_text(source_.name, ": not valid JSON at byte ", begin_ + static_cast<Bytes>(position)));
  }

 private:
  template <typename Event>
  bool pass(Event event) {
    window_.note_event();
    event();
    return true;
  }

  template <typename Event>
  bool enter(Event event) {
    require(++depth_ <= limits_.depth, source_.name, ": JSON at byte ", window_.position(), " is nested deeper than ",
            limits_.depth, " levels");
    return pass(event);
  }

  template <typename Event>
  bool leave(Event event) {
    --depth_;
    return pass(event);
  }

  const ByteSource& source_;
  Bytes begin_;
  Window& window_;
  const JsonLimits& limits_;
  JsonEvents& events_;
  int depth_ = 0;
};

}  // namespace

void read_json(const ByteSource& source, Bytes begin, Bytes end, const JsonLimits& limits, JsonEvents& events) {
  Window window(source, begin, end, limits.token_bytes);
  require(!window.at_end() && window.current() == '{', source.name, ": byte ", begin,
          " must start a JSON object with '{'");
  Bridge bridge(source, begin, window, limits, events);
  const bool done = nlohmann::json::sax_parse(WindowIterator{&window}, WindowIterator{}, &bridge,
                                              nlohmann::json::input_format_t::json, false);
  ensure(done, "read_json: the parser stopped without a reason in ", source.name);
  window.skip_white_space();
}

}  // namespace thimble
