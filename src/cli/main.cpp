// The program's outer border: errors become messages and exit codes here and nowhere else.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

#include "base/error.h"
#include "cli/config.h"
#include "cli/parse.h"
#include "cli/process.h"

namespace thimble::cli {
namespace {

[[noreturn]] void fail_verb(std::string_view word) {
  std::vector<std::string> names;
  std::string known;
  for (const VerbDef& def : verb_table()) {
    names.emplace_back(def.name);
    known += join_text(known.empty() ? "" : ", ", def.name);
  }
  require(!word.starts_with("-"), "found '", word, "', wanted a verb first: ", known);
  fail_user(join_text("there is no verb '", word, "'", hint(word, names), " Verbs: ", known));
}

void read_files(Arguments& arguments) {
  if (const GivenValue* config = arguments.find("config"); config != nullptr) {
    const std::string path = config->text;  // a copy: reading adds to the arguments, which moves them
    read_config(path, Source::config, arguments);
  }
}

ExitCode run(std::span<const char* const> words) {
  const std::string_view first = words.empty() ? "" : words.front();
  if (first == "help" && words.size() == 2) {
    const VerbDef* verb = find_verb(words[1]);
    if (verb == nullptr) fail_verb(words[1]);
    std::fputs(verb_help(*verb).c_str(), stdout);
    return ExitCode::good;
  }
  if (words.empty() || first == "--help" || first == "-h" || first == "help") {
    std::fputs(general_help().c_str(), words.empty() ? stderr : stdout);
    return words.empty() ? ExitCode::user : ExitCode::good;
  }
  if (first == "--version") {
    std::printf("thimble %s\n", THIMBLE_VERSION);
    return ExitCode::good;
  }
  const VerbDef* verb = find_verb(first);
  if (verb == nullptr) fail_verb(first);
  Arguments arguments = parse_words(*verb, words.subspan(1));
  if (arguments.flag("help")) {
    std::fputs(verb_help(*verb).c_str(), stdout);
    return ExitCode::good;
  }
  read_files(arguments);
  const bool goes_without = (verb->verb == Verb::train && arguments.has("resume")) ||
                            (verb->verb == Verb::explore && arguments.has("compare"));
  const bool wants_model = verb->takes_model() && !goes_without;
  require(!wants_model || !arguments.model().empty(), verb->name,
          ": found no model, wanted one behind the verb, such as wrn28-2-gn; 'thimble models' lists them");
  return verb->run(arguments);
}

ExitCode report(const char* kind, const char* message, ExitCode code) {
  const bool is_coloured = isatty(STDERR_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  std::fflush(stdout);
  std::fprintf(stderr, "%sthimble: %s%s%s\n", is_coloured ? "\033[31m" : "", kind, is_coloured ? "\033[0m" : "",
               message);
  return code;
}

ExitCode run_guarded(std::span<const char* const> words) {
  try {
    return run(words);
  } catch (const UserError& error) {
    return report("error: ", error.what(), ExitCode::user);
  } catch (const std::bad_alloc&) {
    return report("error: ", "the system refused memory: is there a limit below the budget (ulimit -v)?",
                  ExitCode::ours);
  } catch (const std::exception& error) {
    return report("a fault of thimble's own, please report it: ", error.what(), ExitCode::ours);
  }
}

}  // namespace
}  // namespace thimble::cli

int main(int count, char** words) {
  using namespace thimble::cli;
  prepare_process();
  ExitCode code = run_guarded({words + 1, static_cast<std::size_t>(count > 0 ? count - 1 : 0)});
  // A full disk or a closed pipe behind stdout must not pass for success, be it met now or while something was printed.
  const bool is_lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (is_lost && code == ExitCode::good) code = report("error: ", "cannot write to stdout", ExitCode::user);
  return static_cast<int>(code);
}
