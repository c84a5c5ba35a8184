#include "cli/verbs.h"

#include "base/error.h"

namespace thimble::cli {
namespace {

constexpr VerbDef kVerbs[] = {
    {.verb = Verb::train,
     .name = "train",
     .operand = "MODEL",
     .summary = "train a network inside a memory budget",
     .about = "Plans the whole run, proves that it fits the budget, then trains. Where it cannot fit, nothing is "
              "touched: the smallest budget that would work and the options that would make it fit are printed. "
              "Ctrl-C saves a checkpoint in --out and ends; --resume goes on to the same weights, bit for bit.",
     .examples = "  thimble train wrn28-2-gn --data cifar10 --batch 100 --optimizer momentum --memory 32MiB\n"
                 "  thimble train lenet-300-100 --data mnist --epochs 5 --out runs/lenet\n"
                 "  thimble train --resume runs/lenet\n"
                 "  thimble train wrn28-2-gn --config run.toml --memory 80%\n",
     .run = run_train},
    {.verb = Verb::plan,
     .name = "plan",
     .operand = "MODEL",
     .summary = "say what a training run needs, without running it",
     .about = "Prints where every byte of the peak goes, what is alive there and what it waits for. Takes every option "
              "of train, so that a train command is planned by changing its verb; with --data the plan is the very "
              "one that train would run. Ends with code 3 if it does not fit.",
     .examples = "  thimble plan wrn28-2 --batch 100\n"
                 "  thimble plan wrn28-2-gn --data cifar10 --memory 32MiB --explain\n"
                 "  thimble plan resnet18 --input 224x224x3 --classes 1000 --batch 32 --json\n",
     .run = run_plan},
    {.verb = Verb::explore,
     .name = "explore",
     .operand = "MODEL",
     .summary = "print the choices between memory and time",
     .about = "Prints plans of which none is beaten in both memory and predicted time, from the fastest to the "
              "smallest, over all sizes of microbatch unless one is given; plans that change the result stand beside "
              "those that do not. Each comes with the command that trains with it (--json, --svg). Then what the "
              "search adds over strategies from the literature.",
     .examples = "  thimble explore wrn28-2 --batch 100 --svg front.svg\n"
                 "  thimble explore wrn28-2-gn --batch 100 --microbatch 10 --memory 32MiB\n"
                 "  thimble explore wrn28-2 --batch 100 --precision bf16 --compare f32.json\n"
                 "  thimble explore --compare f32.json,bf16.json\n",
     .run = run_explore},
    {.verb = Verb::bench,
     .name = "bench",
     .operand = "MODEL",
     .summary = "time every kernel of a plan beside what the machine could do",
     .about = "Plans as train would, runs a few iterations of that very plan on random samples and times every step. "
              "Prints what the machine does at most (arithmetic from registers, bytes to and from memory), then where "
              "the time of an iteration goes, by op and by kernel and operands, and how near each comes to the roof. "
              "The times are kept for this machine: --cost measured plans by them. Takes every option of train.",
     .examples = "  thimble bench wrn28-2 --batch 100\n"
                 "  thimble bench wrn28-2-gn --data cifar10 --memory 32MiB --iterations 20\n"
                 "  thimble bench resnet18 --batch 16 --threads 1 --json\n",
     .run = run_bench},
    {.verb = Verb::eval,
     .name = "eval",
     .operand = "MODEL",
     .summary = "loss and accuracy of trained weights on the test samples",
     .about = "Takes a safetensors file or a checkpoint's folder.",
     .examples = "  thimble eval lenet-300-100 --data mnist --weights runs/lenet/step-000003000\n",
     .run = run_eval},
    {.verb = Verb::models,
     .name = "models",
     .operand = "",
     .summary = "list the built-in networks",
     .about = "A name with <d> or <k> takes numbers there: wrn28-10 is a WideResNet of depth 28 and width 10.",
     .examples = "  thimble models\n",
     .run = run_models},
    {.verb = Verb::ops,
     .name = "ops",
     .operand = "",
     .summary = "list the operations, their formulas and gradient rules",
     .about = "",
     .examples = "  thimble ops\n",
     .run = run_ops},
    {.verb = Verb::data,
     .name = "data",
     .operand = "[get NAME]",
     .summary = "list the data sets and where they are looked for, or fetch one",
     .about =
         "THIMBLE_DATA names the folder where data sets live. 'get' fetches cifar10, cifar100 or mnist into it with "
         "curl or wget, checks the SHA-256 and unpacks; stopped, it goes on where it was.",
     .examples = "  THIMBLE_DATA=~/data thimble data\n"
                 "  THIMBLE_DATA=~/data thimble data get cifar10\n",
     .run = run_data},
};

constexpr std::size_t kHelpWidth = 100;
constexpr std::size_t kHelpColumn = 28;

// Words of `text` from `column` on, broken before the width; the cursor stands in `column` already.
void append_wrapped(std::string& out, std::string_view text, std::size_t column) {
  std::size_t at = column;
  for (const std::string& word : split(text, ' ')) {
    if (at > column && at + 1 + word.size() > kHelpWidth) {
      out += "\n" + std::string(column, ' ');
      at = column;
    }
    if (at > column) out += ' ', ++at;
    out += word;
    at += word.size();
  }
  out += '\n';
}

void append_entry(std::string& out, const std::string& head, std::string_view text) {
  out += "  " + head;
  const std::size_t at = 2 + head.size();
  out += at + 2 > kHelpColumn ? "\n" + std::string(kHelpColumn, ' ') : std::string(kHelpColumn - at, ' ');
  append_wrapped(out, text, kHelpColumn);
}

void append_options(std::string& out, Verb verb) {
  bool is_first = true;
  OptionGroup group{};
  for (const OptionDef& option : option_table()) {
    if ((option.verbs & set_of(verb)) == 0) continue;
    if (is_first || option.group != group) out += join_text("\n", name_of(option.group), ":\n");
    is_first = false;
    group = option.group;
    append_entry(out, join_text("--", option.name, option.value.empty() ? "" : " ", option.value), option.help);
  }
}

constexpr std::string_view kExitCodes =
    "Exit codes: 0 good, 1 an error of the user's, 2 an error of ours, 3 does not fit the budget,\n"
    "4 training diverged, 130 interrupted (state saved if there is --out).\n";

}  // namespace

std::span<const VerbDef> verb_table() { return kVerbs; }

const VerbDef& verb_def(Verb verb) {
  for (const VerbDef& def : kVerbs) {
    if (def.verb == verb) return def;
  }
  fail_internal("a verb is missing in the table");
}

const VerbDef* find_verb(std::string_view name) {
  for (const VerbDef& def : kVerbs) {
    if (def.name == name) return &def;
  }
  return nullptr;
}

std::string general_help() {
  std::string out =
      "Thimble trains neural networks inside a memory budget.\n\nUsage: thimble VERB [MODEL] [OPTIONS]\n\n";
  out += "Verbs:\n";
  for (const VerbDef& def : kVerbs) append_entry(out, std::string(def.name), def.summary);
  out += "\n'thimble VERB --help' lists the options of a verb; 'thimble --version' prints the version.\n\nExamples:\n";
  for (const Verb verb : {Verb::plan, Verb::train, Verb::explore}) {
    const std::string_view examples = verb_def(verb).examples;
    out += examples.substr(0, examples.find('\n') + 1);
  }
  return out + join_text("\n", kExitCodes);
}

std::string verb_help(const VerbDef& verb) {
  std::string out = join_text("thimble ", verb.name, ": ", verb.summary, "\n\nUsage: thimble ", verb.name,
                              verb.operand.empty() ? "" : " ", verb.operand, " [OPTIONS]\n");
  if (!verb.about.empty()) {
    out += '\n';
    append_wrapped(out, verb.about, 0);
  }
  if (verb.takes_model()) {
    out += "\n";
    append_entry(out, std::string(verb.operand), "name of a network; 'thimble models' lists them");
  }
  append_options(out, verb.verb);
  out += join_text("\nExamples:\n", verb.examples);
  return out + join_text("\n", kExitCodes);
}

}  // namespace thimble::cli
