#include "cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/nearest.h"

namespace thimble::cli {
namespace {

template <typename Number>
std::optional<Number> parse_whole(std::string_view text) {
  if (text.starts_with("+")) text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string bounds_text(const OptionDef& option) {
  const bool is_whole = option.kind == OptionKind::integer;
  std::string text = is_whole ? "a whole number" : "a number";
  text += join_text(", at least ", option.least);
  if (std::isfinite(option.below)) {
    text += is_whole ? join_text(" and less than ", static_cast<std::int64_t>(option.below))
                     : join_text(" and less than ", option.below);
  } else if (is_whole) {
    text += join_text(" and at most ", std::numeric_limits<std::int64_t>::max());
  }
  return text;
}

void check_number(const GivenValue& given) {
  const OptionDef& option = *given.option;
  const std::optional<double> value =
      option.kind == OptionKind::integer ? std::optional<double>(parse_integer(given.text)) : parse_number(given.text);
  const bool is_good = value && std::isfinite(*value) && *value >= option.least && *value < option.below;
  require(is_good, given.where, ": found '", given.text, "', wanted ", bounds_text(option));
}

void check_word(const GivenValue& given) {
  const std::vector<std::string> choices = split(given.option->value, '|');
  if (std::find(choices.begin(), choices.end(), given.text) != choices.end()) return;
  std::string known;
  for (const std::string& choice : choices) known += (known.empty() ? "" : ", ") + choice;
  fail_user(join_text(given.where, ": found '", given.text, "', wanted one of ", known, hint(given.text, choices)));
}

void check(const GivenValue& given) {
  switch (given.option->kind) {
    case OptionKind::flag: return;
    case OptionKind::integer:
    case OptionKind::number: return check_number(given);
    case OptionKind::word: return check_word(given);
    case OptionKind::list:
      for (const std::string& piece : split(given.text, ',')) {
        require(!piece.empty(), given.where, ": found '", given.text, "', wanted words with a comma between each two");
      }
      return;
    case OptionKind::text: require(!given.text.empty(), given.where, ": found nothing, wanted ", given.option->value);
  }
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) { return parse_whole<std::int64_t>(text); }
std::optional<double> parse_number(std::string_view text) { return parse_whole<double>(text); }

std::string hint(std::string_view word, const std::vector<std::string>& known, std::string_view prefix) {
  const std::string nearest = nearest_word(word, known);
  return nearest.empty() ? "." : join_text("; did you mean '", prefix, nearest, "'?");
}

void Arguments::give(GivenValue value) {
  check(value);
  const auto same = std::find_if(values_.begin(), values_.end(),
                                 [&](const GivenValue& known) { return known.option == value.option; });
  if (same == values_.end()) {
    values_.push_back(std::move(value));
  } else if (value.source == same->source && value.option->kind == OptionKind::list) {
    same->text += "," + value.text;
  } else if (value.source <= same->source) {
    *same = std::move(value);
  }
}

void Arguments::give_model(std::string name, Source source) {
  if (!model_.empty() && model_source_ < source) return;
  model_ = std::move(name);
  model_source_ = source;
}

void Arguments::resolve(std::string_view name, std::string text) {
  const OptionDef* option = find_option(name);
  ensure(option != nullptr, "option '", name, "' is not in the table");
  std::erase_if(values_, [&](const GivenValue& known) { return known.option == option; });
  values_.push_back({option, std::move(text), Source::command_line, join_text("--", name)});
}

const GivenValue* Arguments::find(std::string_view name) const {
  ensure(find_option(name) != nullptr, "option '", name, "' is not in the table");
  for (const GivenValue& value : values_) {
    if (value.option->name == name) return &value;
  }
  return nullptr;
}

bool Arguments::flag(std::string_view name) const { return text(name, "false") == "true"; }

std::string Arguments::text(std::string_view name, std::string_view fallback) const {
  const GivenValue* given = find(name);
  return given == nullptr ? std::string(fallback) : given->text;
}

std::int64_t Arguments::integer(std::string_view name, std::int64_t fallback) const {
  const GivenValue* given = find(name);
  return given == nullptr ? fallback : parse_integer(given->text).value();
}

double Arguments::number(std::string_view name, double fallback) const {
  const GivenValue* given = find(name);
  return given == nullptr ? fallback : parse_number(given->text).value();
}

std::vector<std::string> Arguments::list(std::string_view name) const {
  const GivenValue* given = find(name);
  return given == nullptr ? std::vector<std::string>() : split(given->text, ',');
}

std::string Arguments::where(std::string_view name) const {
  const GivenValue* given = find(name);
  return given == nullptr ? join_text("--", name) : given->where;
}

}  // namespace thimble::cli
