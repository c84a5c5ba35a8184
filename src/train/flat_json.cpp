#include "train/flat_json.h"

#include "base/error.h"
#include "formats/json_reader.h"

namespace thimble {

namespace {
constexpr Bytes kMostBytes = 64 * kKiB;
}

class FlatJsonEvents final : public JsonEvents {
 public:
  explicit FlatJsonEvents(FlatJson& target) : target_(target) {}

  void on_begin_object() override {}
  void on_end_object() override {}
  void on_key(std::string_view key) override { key_ = key; }
  void on_text(std::string_view value) override { add(std::string(value)); }
  void on_integer(std::int64_t value) override { add(value); }
  void on_number(double value) override { add(value); }
  void on_boolean(bool value) override { add(value); }

 private:
  void add(FlatJson::Value value) {
    const bool is_new = target_.values_.emplace(key_, std::move(value)).second;
    require(is_new, target_.name_, ": states '", key_, "' twice");
  }
  [[noreturn]] void refuse(std::string_view found) const override {
    fail_user(join_text(target_.name_, ": '", key_, "' is ", found, ", wanted a text, a number, true or false"));
  }

  FlatJson& target_;
  std::string key_;
};

FlatJson::FlatJson(const ByteSource& source) : name_(source.name) {
  require(source.size <= kMostBytes, name_, ": takes ", source.size, " bytes, wanted at most ", kMostBytes);
  FlatJsonEvents events(*this);
  read_json(source, 0, source.size, {.depth = 1, .token_bytes = kMostBytes}, events);
}

const FlatJson::Value& FlatJson::get(std::string_view key) const {
  const auto found = values_.find(key);
  require(found != values_.end(), name_, ": does not state '", key, "'");
  return found->second;
}

const std::string& FlatJson::text(std::string_view key) const {
  const auto* value = std::get_if<std::string>(&get(key));
  require(value != nullptr, name_, ": '", key, "' is no text");
  return *value;
}

std::int64_t FlatJson::integer(std::string_view key) const {
  const auto* value = std::get_if<std::int64_t>(&get(key));
  require(value != nullptr, name_, ": '", key, "' is no integer");
  return *value;
}

double FlatJson::number(std::string_view key) const {
  const Value& value = get(key);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  const auto* number = std::get_if<double>(&value);
  require(number != nullptr, name_, ": '", key, "' is no number");
  return *number;
}

bool FlatJson::boolean(std::string_view key) const {
  const auto* value = std::get_if<bool>(&get(key));
  require(value != nullptr, name_, ": '", key, "' is neither true nor false");
  return *value;
}

}  // namespace thimble
