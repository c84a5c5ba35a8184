// What the user asked for: values of options, each with the place it was given at, so that a message can name it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace thimble::cli {

// Strongest first: a flag wins over the config file, which wins over the options kept in a resumed run's folder.
enum class Source : std::uint8_t { command_line, config, resumed };

struct GivenValue {
  const OptionDef* option = nullptr;
  std::string text;  // "true" or "false" for a flag
  Source source = Source::command_line;
  std::string where;  // "--batch" or "run.toml:3: batch"
};

class Arguments {
 public:
  explicit Arguments(Verb verb) : verb_(verb) {}

  Verb verb() const { return verb_; }

  // Checks the text against the option's kind and bounds. Has no effect if a stronger source has spoken.
  void give(GivenValue value);
  void give_model(std::string name, Source source);
  // Flags that become whole only later: what a run resolved, as the options kept in its folder.
  void resolve(std::string_view name, std::string text);

  void give_word(std::string word) { words_.push_back(std::move(word)); }

  const std::string& model() const { return model_; }               // empty: none was given
  const std::vector<std::string>& words() const { return words_; }  // of verbs that take words instead of a model
  const GivenValue* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  bool flag(std::string_view name) const;
  std::string text(std::string_view name, std::string_view fallback) const;
  std::int64_t integer(std::string_view name, std::int64_t fallback) const;
  double number(std::string_view name, double fallback) const;
  std::vector<std::string> list(std::string_view name) const;
  std::string where(std::string_view name) const;  // for messages: "--batch" if it was not given

  const std::vector<GivenValue>& values() const { return values_; }

 private:
  Verb verb_;
  std::string model_;
  std::vector<std::string> words_;
  Source model_source_ = Source::resumed;
  std::vector<GivenValue> values_;
};

// The whole text as a number; none if anything else is in it.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);

// Ends a sentence: "." or "; did you mean 'x'?"
std::string hint(std::string_view word, const std::vector<std::string>& known, std::string_view prefix = "");

}  // namespace thimble::cli
