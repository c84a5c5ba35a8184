// The verbs: what each is for, and the function that does it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/arguments.h"

namespace thimble::cli {

enum class ExitCode : int { good = 0, user = 1, ours = 2, does_not_fit = 3, diverged = 4, interrupted = 130 };

ExitCode run_train(const Arguments& arguments);
ExitCode run_plan(const Arguments& arguments);
ExitCode run_explore(const Arguments& arguments);
ExitCode run_bench(const Arguments& arguments);
ExitCode run_eval(const Arguments& arguments);
ExitCode run_models(const Arguments& arguments);
ExitCode run_ops(const Arguments& arguments);
ExitCode run_data(const Arguments& arguments);

struct VerbDef {
  Verb verb;
  std::string_view name;
  std::string_view operand;  // "MODEL", other words, or nothing
  std::string_view summary;
  std::string_view about;     // a paragraph for the verb's own help
  std::string_view examples;  // whole lines
  ExitCode (*run)(const Arguments&) = nullptr;

  bool takes_model() const { return operand == "MODEL"; }
};

std::span<const VerbDef> verb_table();
const VerbDef& verb_def(Verb verb);
const VerbDef* find_verb(std::string_view name);

std::string general_help();
std::string verb_help(const VerbDef& verb);

}  // namespace thimble::cli
