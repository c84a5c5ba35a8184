// Events of a file of one form only: an object whose last key is a list of objects, and the keys of either in the order
// in which they are written.
#pragma once

#include <span>

#include "base/error.h"
#include "formats/json_reader.h"
#include "formats/json_text.h"

namespace thimble {

class ListingEvents : public JsonEvents {
 public:
  void on_begin_object() final {
    require(++depth_ == 1 || (depth_ == 2 && is_in_list_), source_, ": an object stands where none is wanted");
    if (depth_ != 2) return;
    entry_count_ = 0;
    begin_entry();
  }
  void on_end_object() final {
    if (--depth_ == 1) finish_entry();
  }
  void on_begin_array() final {
    require(depth_ == 1 && key_ == top_keys_.back() && !is_in_list_, source_, ": a list stands where none is wanted");
    is_in_list_ = true;
  }
  void on_end_array() final { is_in_list_ = false; }
  void on_key(std::string_view key) final {
    const std::span<const std::string_view> wanted = is_entry() ? entry_keys_ : top_keys_;
    std::size_t& count = is_entry() ? entry_count_ : top_count_;
    require(count < wanted.size() && wanted[count] == key, source_, ": found key ", json_quoted(key.substr(0, kShown)),
            ", wanted ", count < wanted.size() ? wanted[count] : "the end of the object");
    key_ = wanted[count++];
  }

 protected:
  static constexpr std::size_t kShown = 64;  // characters of a text in a message

  // All must outlive it.
  ListingEvents(std::string_view source, std::span<const std::string_view> top_keys,
                std::span<const std::string_view> entry_keys)
      : source_(source), top_keys_(top_keys), entry_keys_(entry_keys) {}

  virtual void begin_entry() = 0;
  virtual void finish_entry() = 0;
  [[noreturn]] void refuse(std::string_view found) const override {
    fail_user(join_text(source_, ": \"", key_, "\" is ", found, ", which is not wanted there"));
  }

  std::string_view source() const { return source_; }
  std::string_view key() const { return key_; }
  bool is_top(std::string_view key) const { return depth_ == 1 && key_ == key; }
  bool is_entry() const { return depth_ == 2; }
  bool is_entry(std::string_view key) const { return is_entry() && key_ == key; }
  bool is_whole() const { return top_count_ == top_keys_.size(); }
  bool is_whole_entry() const { return entry_count_ == entry_keys_.size(); }

 private:
  std::string_view source_;
  std::span<const std::string_view> top_keys_, entry_keys_;
  int depth_ = 0;
  bool is_in_list_ = false;
  std::size_t top_count_ = 0, entry_count_ = 0;
  std::string_view key_;  // points into the keys above
};

}  // namespace thimble
