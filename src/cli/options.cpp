#include "cli/options.h"

namespace thimble::cli {
namespace {

constexpr unsigned kTrain = set_of(Verb::train), kPlan = set_of(Verb::plan), kExplore = set_of(Verb::explore),
                   kBench = set_of(Verb::bench), kEval = set_of(Verb::eval);
constexpr unsigned kPlanning = kTrain | kPlan | kExplore | kBench;
constexpr unsigned kCompiling = kPlanning | kEval;
constexpr unsigned kLists = set_of(Verb::models) | set_of(Verb::ops) | set_of(Verb::data);
// A train command line becomes a plan, or a bench, by changing its verb: options that do not bear on it are taken and
// left.
constexpr unsigned kTrainAndPlan = kTrain | kPlan | kBench;

// Bounds that no honest run meets: a mistyped number is refused where it stands, and products of them do not overflow.
constexpr double kMostDimension = 16'777'217, kMostEpochs = 1e9, kMostSteps = 1e12, kMostMeasured = 10'001;

using enum OptionKind;
using enum OptionGroup;

constexpr OptionDef kOptions[] = {
    {"data", text, "NAME|PATH",
     "data set: cifar10, cifar100, mnist, glyphs, glyph-masks, or the path of a folder that holds one of them or "
     "pictures as train/CLASS/*.jpg and val/CLASS/*.jpg, with masks as train/images/*.jpg and train/masks/*.png. "
     "'thimble data' says which are present",
     kCompiling, problem},
    {"batch", integer, "N", "samples in one update of the weights (default 100)", kCompiling, problem, 1,
     kMostDimension},
    {"classes", integer, "N", "classes to tell apart, where no --data says it (default: as published)",
     kPlan | kExplore | kBench, problem, 2, kMostDimension},
    {"input", text, "HxWxC",
     "size of a sample, where no --data says it, and of pictures from a folder (default: as the model was published)",
     kCompiling, problem},
    {"weights", text, "FILE",
     "start from these weights: a safetensors file under PyTorch's names (eval: or a checkpoint's folder)",
     kTrainAndPlan | kEval, problem},
    {"label-smoothing", number, "X", "share of the target spread over all classes (default 0)", kPlanning, problem, 0,
     1},
    {"dropout", number, "P", "chance of a dropped activation, where the model has dropout (default 0)", kPlanning,
     problem, 0, 1},

    {"from", text, "URL", "get: fetch from this folder of a web server, where the same files lie", set_of(Verb::data),
     problem},

    {"memory", text, "SIZE",
     "budget of the whole process: 32MiB, 64MB, 1GiB, 80% (of the smallest limit this process is under) or auto (all "
     "of it, followed as it moves). Without it nothing is bounded",
     kCompiling, memory},
    {"control", text, "PIPE",
     "named pipe that takes 'memory SIZE' and 'status' while training; made if absent. The plan keeps others ready",
     kTrainAndPlan, memory},
    {"tensor-memory", text, "SIZE", "budget of the tensors alone, for comparison with papers", kPlanning, memory},
    {"microbatch", text, "N|auto",
     "samples that pass through the network at a time; auto chooses the fastest size that fits (default auto)",
     kPlanning, memory},
    {"recompute", word, "auto|chen|block|sage|greedy|none",
     "which values may be made again instead of kept. auto: what the search finds; none: nothing; the others, for "
     "comparison: Chen's segments, checkpoints at blocks, Sage's eviction, greedy eviction (default auto)",
     kPlanning, memory},
    {"allow", list, "LEVER,...",
     "levers by name: microbatch-norm (batch norm's statistics are taken over each microbatch, which changes the "
     "result), microbatch-change (a budget that changes may change the microbatch, and so the order of sums), offload "
     "(values wait in a file, which changes nothing)",
     kPlanning, memory},
    {"spill", text, "DIR",
     "with --allow offload: folder for the spill file, on a disk with room for what the plan says", kTrainAndPlan,
     memory},
    {"spill-bandwidth", text, "SIZE", "bytes a second that predictions take for the spill file (default 500MB)",
     kPlanning, memory},
    {"precision", word, "f32|bf16", "of activations and their gradients (default f32)", kCompiling, memory},
    {"master", word, "f32|none",
     "with bf16: f32 keeps weights and optimizer state in f32, none keeps them in bf16 too (default f32)", kCompiling,
     memory},
    {"sparsity", number, "S", "share of weights that are zero and not stored, such as 0.8 (default 0)", kCompiling,
     memory, 0, 1},
    {"sparse-method", word, "dsr|static", "dsr moves non-zeros between layers while training (default dsr)",
     kTrainAndPlan, memory},

    {"optimizer", word, "sgd|momentum|nesterov|adamw", "rule of the update (default momentum)", kPlanning, training},
    {"lr", number, "X", "highest learning rate (default 0.1; adamw 0.001)", kTrainAndPlan, training},
    {"lr-schedule", word, "constant|steps|cosine|one-cycle|one-cycle-linear",
     "course of the learning rate (default constant)", kTrainAndPlan, training},
    {"lr-steps", list, "A,B,...", "steps: epochs after which the rate is multiplied by --lr-factor", kTrainAndPlan,
     training},
    {"lr-factor", number, "X", "steps: the factor (default 0.1)", kTrainAndPlan, training},
    {"lr-rise", number, "X", "one-cycle: share of the run in which the rate rises (default 0.3)", kTrainAndPlan,
     training, 0, 1},
    {"warmup", integer, "N", "iterations of linear rise from zero (default 0)", kTrainAndPlan, training},
    {"momentum", number, "X", "of momentum and nesterov (default 0.9)", kPlanning, training, 0, 1},
    {"weight-decay", number, "X", "pull of all weights towards zero (default 0)", kPlanning, training},
    {"no-decay-vectors", flag, "", "spare norms and biases the weight decay", kPlanning, training},
    {"clip-norm", number, "X",
     "scale all gradients down together where their common length is above X (default: never)", kPlanning, training},
    {"augment", word, "none|crop-flip|resized-crop",
     "random crops and mirror images (default crop-flip for cifar10 and cifar100, resized-crop for pictures of a "
     "folder, else none)",
     kTrainAndPlan, training},
    {"epochs", integer, "N", "passes over the training samples (default 10)", kTrainAndPlan, training, 1, kMostEpochs},
    {"steps", integer, "N", "iterations, instead of --epochs", kTrainAndPlan, training, 1, kMostSteps},
    {"seed", integer, "N", "of weights, order of samples, augmentation and dropout (default 0)", kTrainAndPlan,
     training},

    {"out", text, "DIR", "folder for checkpoints, metrics.jsonl and options.toml; without it nothing is written",
     kTrainAndPlan, run},
    {"resume", text, "DIR", "go on from the newest complete checkpoint in DIR, with the options kept there", kTrain,
     run},
    {"eval-every", integer, "N", "iterations between evaluations (default: once an epoch)", kTrainAndPlan, run, 1},
    {"save-every", integer, "N", "iterations between checkpoints (default: once an epoch)", kTrainAndPlan, run, 1},
    {"keep", integer, "N", "checkpoints to keep (default 2)", kTrainAndPlan, run, 1},

    {"threads", integer, "N", "threads (default: all cores this process may use)", kCompiling, machine, 1, 1025},
    {"isa", word, "generic|avx2|avx512|avx512_bf16|amx_bf16|neon",
     "highest instruction set for kernels (default: this machine's)", kCompiling, machine},
    {"kernels", word, "native", "whose kernels: our own, which are all there are (default native)", kCompiling,
     machine},
    {"cost", word, "model|measured",
     "where the search has its times from. model: arithmetic and bytes; measured: what 'thimble bench' kept for this "
     "machine. Neither changes a result, nor the microbatch that auto chooses (default model)",
     kPlanning, machine},
    {"iterations", integer, "N", "iterations to measure, behind one that does not count (default 5)", kBench, machine,
     1, kMostMeasured},
    {"skip-pass", list, "NAME,...", "for diagnosis: leave out these passes of the compiler", kPlanning, machine},

    {"config", text, "FILE.toml", "take options from a file, keys named as the options; flags win", kCompiling, output},
    {"json", flag, "", "facts as JSON on stdout, everything else on stderr", kCompiling | kLists, output},
    {"svg", text, "FILE", "also draw the front into this file", kExplore, output},
    {"compare", list, "FILE,...",
     "instead of the front, what it is beside one that explore --json wrote before; two files and no model: beside "
     "each other",
     kExplore, output},
    {"explain", flag, "", "also what each pass did, and the kernel of every step with the refusals before it", kPlan,
     output},
    {"progress", word, "auto|bar|plain|none", "auto: a bar on a terminal, else a line every ten seconds (default auto)",
     kTrainAndPlan, output},
    {"help", flag, "", "this text", kCompiling | kLists, output},
};

}  // namespace

std::span<const OptionDef> option_table() { return kOptions; }

const OptionDef* find_option(std::string_view name) {
  for (const OptionDef& option : kOptions) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

std::vector<std::string> option_names(Verb verb) {
  std::vector<std::string> names;
  for (const OptionDef& option : kOptions) {
    if ((option.verbs & set_of(verb)) != 0) names.emplace_back(option.name);
  }
  return names;
}

std::string_view name_of(OptionGroup group) {
  switch (group) {
    case OptionGroup::problem: return "What is trained";
    case OptionGroup::memory: return "Memory";
    case OptionGroup::training: return "How it is trained";
    case OptionGroup::run: return "The run's folder";
    case OptionGroup::machine: return "Machine";
    case OptionGroup::output: return "Input and output";
  }
  return "";
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (;;) {
    const std::size_t end = text.find(separator);
    pieces.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

}  // namespace thimble::cli
