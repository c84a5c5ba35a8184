#include "cli/parse.h"

#include "base/error.h"

namespace thimble::cli {
namespace {

[[noreturn]] void fail_unknown(const VerbDef& verb, std::string_view name) {
  if (const OptionDef* other = find_option(name); other != nullptr) {
    std::string verbs;
    for (const VerbDef& def : verb_table()) {
      if ((other->verbs & set_of(def.verb)) != 0) verbs += join_text(verbs.empty() ? "" : ", ", def.name);
    }
    fail_user(join_text("'", verb.name, "' has no option '--", name, "': it belongs to ", verbs));
  }
  fail_user(join_text("'", verb.name, "' has no option '--", name, "'", hint(name, option_names(verb.verb), "--"), " '",
                      "thimble ", verb.name, " --help' lists them"));
}

void take_operand(const VerbDef& verb, std::string_view word, Arguments& arguments) {
  require(!word.empty(), "found an empty word on the command line, wanted a model or an option");
  require(word.front() != '-', "option '", word, "' is not known; options have two dashes and whole names",
          word.size() > 3 ? hint(word.substr(1), option_names(verb.verb), "--") : ".");
  require(!verb.operand.empty(), "'", verb.name, "' takes no '", word, "', only options");
  if (!verb.takes_model()) return arguments.give_word(std::string(word));
  require(arguments.model().empty(), "found a second model '", word, "' beside '", arguments.model(),
          "', wanted one; an option begins with two dashes");
  arguments.give_model(std::string(word), Source::command_line);
}

}  // namespace

Arguments parse_words(const VerbDef& verb, std::span<const char* const> words) {
  Arguments arguments(verb.verb);
  bool has_options = true;
  for (std::size_t index = 0; index < words.size(); ++index) {
    const std::string_view word = words[index];
    if (word == "-h" && has_options) {
      arguments.give({find_option("help"), "true", Source::command_line, "-h"});
      continue;
    }
    if (word == "--" && has_options) {
      has_options = false;
      continue;
    }
    if (!has_options || !word.starts_with("--")) {
      take_operand(verb, word, arguments);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(2, equals == std::string_view::npos ? equals : equals - 2);
    const OptionDef* option = find_option(name);
    if (option == nullptr || (option->verbs & set_of(verb.verb)) == 0) fail_unknown(verb, name);
    GivenValue given{option, "true", Source::command_line, join_text("--", name)};
    if (option->kind == OptionKind::flag) {
      require(equals == std::string_view::npos, "--", name, " takes no value, found '", word.substr(2), "'");
    } else if (equals != std::string_view::npos) {
      given.text = word.substr(equals + 1);
    } else {
      require(index + 1 < words.size() && !std::string_view(words[index + 1]).starts_with("--"), "--", name,
              ": found no value, wanted ", option->value);
      given.text = words[++index];
    }
    arguments.give(std::move(given));
  }
  return arguments;
}

}  // namespace thimble::cli
