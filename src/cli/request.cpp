#include "cli/request.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "cli/costs.h"
#include "compile/recipe.h"
#include "data/loader.h"
#include "data/open.h"
#include "ops/table.h"
#include "run/meter.h"
#include "train/data_fit.h"

namespace thimble::cli {
namespace {

constexpr std::int64_t kDefaultBatch = 100;
constexpr std::int64_t kDefaultEpochs = 10;

std::string environment(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? fallback : value;
}

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

// "32x32x3"
Shape sample_from(const std::string& text, const std::string& where) {
  std::vector<std::int64_t> sizes;
  for (const std::string& piece : split(text, 'x')) sizes.push_back(parse_integer(piece).value_or(0));
  constexpr std::int64_t kMostPixels = 65536;  // along one side; products of three such sizes do not overflow
  const bool is_good = sizes.size() == 3 && std::all_of(sizes.begin(), sizes.end(),
                                                        [](auto size) { return size >= 1 && size <= kMostPixels; });
  require(is_good, where, ": found '", text, "', wanted height, width and channels, each from 1 to ", kMostPixels,
          ", such as 32x32x3");
  return Shape(sizes);
}

ModelSpec make_model(const Arguments& arguments, const Dataset* dataset) {
  ModelSpec model;
  model.name = arguments.model();
  model.dropout = arguments.number("dropout", 0);
  model.label_smoothing = arguments.number("label-smoothing", 0);
  if (dataset != nullptr) {
    require(!arguments.has("classes") && (dataset->is_framed() || !arguments.has("input")),
            arguments.where(arguments.has("classes") ? "classes" : "input"),
            ": the data set says it already; leave out one of the two");
    fit_to_data(model, *dataset);
    return model;
  }
  const GivenValue* input = arguments.find("input");
  model.sample = input == nullptr ? default_sample(model.name) : sample_from(input->text, input->where);
  model.classes = arguments.integer("classes", default_classes(model.name));
  return model;
}

OptimizerSpec make_optimizer(const Arguments& arguments) {
  OptimizerSpec optimizer;
  optimizer.kind = optimizer_from_name(arguments.text("optimizer", "momentum"));
  optimizer.momentum = arguments.number("momentum", optimizer.momentum);
  optimizer.weight_decay = arguments.number("weight-decay", 0);
  optimizer.decay_vectors = !arguments.flag("no-decay-vectors");
  optimizer.clip_norm = arguments.number("clip-norm", 0);
  require(optimizer.clip_norm > 0 || !arguments.has("clip-norm"), arguments.where("clip-norm"),
          ": found 0, wanted a length above 0; without the option nothing is clipped");
  const bool has_momentum = optimizer.kind == OptimizerKind::momentum || optimizer.kind == OptimizerKind::nesterov;
  require(has_momentum || !arguments.has("momentum"), arguments.where("momentum"), ": ", name_of(optimizer.kind),
          " has none; it goes with --optimizer momentum or nesterov");
  return optimizer;
}

Target make_target(const Arguments& arguments) {
  Target target;
  target.threads = static_cast<int>(arguments.integer("threads", available_cores()));
  const Isa detected = detect_isa();
  target.isa = detected;
  if (const GivenValue* given = arguments.find("isa"); given != nullptr)
    target.isa = isa_from_name(given->text).value();
  // A plan may be made for another machine; a run may not.
  const bool is_run =
      arguments.verb() == Verb::train || arguments.verb() == Verb::bench || arguments.verb() == Verb::eval;
  const Isa largest = is_run ? detected : kLargestIsa;
  require(includes(largest, target.isa), arguments.where("isa"), ": found ", name_of(target.isa), ", but this ",
          is_run ? "machine runs " : "program has kernels for ", name_of(largest), " at most; leave it out");
  return target;
}

std::set<std::string> allowed_levers(const Arguments& arguments) {
  static const std::vector<std::string> kLevers = {"microbatch-norm", "microbatch-change", "offload"};
  const std::vector<std::string> given = arguments.list("allow");
  for (const std::string& lever : given) {
    require(std::find(kLevers.begin(), kLevers.end(), lever) != kLevers.end(), arguments.where("allow"),
            ": there is no lever '", lever, "'", hint(lever, kLevers),
            " Known: microbatch-norm, microbatch-change, offload");
  }
  return {given.begin(), given.end()};
}

std::set<std::string> skipped_passes(const Arguments& arguments) {
  std::vector<std::string> known;
  for (const Pass& pass : forward_recipe()) known.emplace_back(pass.name);
  for (const Pass& pass : training_recipe()) known.emplace_back(pass.name);
  const std::vector<std::string> given = arguments.list("skip-pass");
  for (const std::string& name : given) {
    require(std::find(known.begin(), known.end(), name) != known.end(), arguments.where("skip-pass"),
            ": there is no pass '", name, "'", hint(name, known), " 'thimble plan MODEL --explain' lists them");
  }
  return {given.begin(), given.end()};
}

std::optional<std::int64_t> microbatch_from(const Arguments& arguments, std::int64_t batch) {
  const std::string text = arguments.text("microbatch", "auto");
  if (text == "auto") return std::nullopt;
  const std::optional<std::int64_t> size = parse_integer(text);
  require(size && *size >= 1 && *size <= batch, arguments.where("microbatch"), ": found '", text,
          "', wanted auto or a whole number from 1 to the batch, ", batch);
  return size;
}

// Both may stand in different sources; the stronger one counts.
std::int64_t iterations_from(const Arguments& arguments, std::int64_t batches_per_epoch) {
  const GivenValue *epochs = arguments.find("epochs"), *steps = arguments.find("steps");
  require(epochs == nullptr || steps == nullptr || epochs->source != steps->source,
          "found both epochs and steps, wanted one of them");
  const bool by_steps = steps != nullptr && (epochs == nullptr || steps->source < epochs->source);
  return by_steps ? arguments.integer("steps", 0) : arguments.integer("epochs", kDefaultEpochs) * batches_per_epoch;
}

std::vector<std::int64_t> milestones_from(const Arguments& arguments, std::int64_t batches_per_epoch) {
  std::vector<std::int64_t> milestones;
  for (const std::string& text : arguments.list("lr-steps")) {
    const std::optional<double> epoch = parse_number(text);
    require(epoch && *epoch > 0 && *epoch < 1e9, arguments.where("lr-steps"), ": found '", text,
            "', wanted epochs, such as 60,120,160");
    milestones.push_back(static_cast<std::int64_t>(*epoch * static_cast<double>(batches_per_epoch) + 0.5));
    require(milestones.size() < 2 || milestones[milestones.size() - 2] < milestones.back(), arguments.where("lr-steps"),
            ": found ", text, " after a later epoch, wanted them in rising order");
  }
  return milestones;
}

LearningRateSpec make_learning_rate(const Arguments& arguments, std::int64_t iterations,
                                    std::int64_t batches_per_epoch) {
  LearningRateSpec rate;
  rate.kind = learning_rate_kind_from_name(arguments.text("lr-schedule", "constant"));
  rate.peak = arguments.number("lr", arguments.text("optimizer", "momentum") == "adamw" ? 1e-3 : 0.1);
  rate.iterations = iterations;
  rate.warm_up = arguments.integer("warmup", 0);
  rate.factor = arguments.number("lr-factor", rate.factor);
  rate.rise = arguments.number("lr-rise", rate.rise);
  rate.milestones = milestones_from(arguments, batches_per_epoch);
  const bool has_steps = rate.kind == LearningRateKind::steps;
  require(!has_steps || !rate.milestones.empty(),
          "--lr-schedule steps: found no --lr-steps, wanted epochs, such as 60,120,160");
  require(has_steps || rate.milestones.empty(), arguments.where("lr-steps"), ": goes with --lr-schedule steps");
  require(rate.warm_up < iterations, arguments.where("warmup"), ": found ", rate.warm_up,
          " iterations, wanted fewer than the run's ", iterations);
  return rate;
}

Augmentation augmentation_for(const Arguments& arguments, const Dataset& dataset) {
  const std::string& name = dataset.info().name;
  const bool is_cifar = name == "cifar10" || name == "cifar100";
  const std::string_view fallback = dataset.is_framed() ? "resized-crop" : is_cifar ? "crop-flip" : "none";
  return augmentation_from_name(arguments.text("augment", fallback)).value();
}

Bytes size_from(const std::string& text, std::string_view where, std::string_view others) {
  const std::optional<double> bare = parse_number(text);
  const bool is_sound = bare && std::isfinite(*bare) && *bare > 0;
  require(!bare, where, ": found '", text, "' without a unit, wanted a size, such as ", is_sound ? text : "32", "MiB",
          others);
  try {
    return parse_bytes(text);
  } catch (const UserError& error) {
    fail_user(join_text(where, ": ", error.what(), others));
  }
}

}  // namespace

Bytes budget_from(const std::string& text, Bytes limit, std::string_view where) {
  if (text == "auto") return limit;
  if (!text.ends_with('%')) return size_from(text, where, ", or 80% or auto");
  const std::optional<double> share = parse_number(std::string_view(text).substr(0, text.size() - 1));
  require(share && *share > 0 && *share <= 100, where, ": found '", text, "', wanted a share above 0% and up to 100%");
  return static_cast<Bytes>(*share / 100 * static_cast<double>(limit));
}

bool follows_limits(const Arguments& arguments) { return arguments.text("memory", "") == "auto"; }

std::string data_root() { return environment("THIMBLE_DATA", ""); }

std::unique_ptr<Dataset> open_data(const Arguments& arguments) {
  const GivenValue* data = arguments.find("data");
  if (data == nullptr) return nullptr;
  const auto seed = static_cast<std::uint64_t>(arguments.integer("seed", 0));
  OpenOptions options{.data_root = data_root(), .seed = seed, .scratch_folder = environment("TMPDIR", "/tmp")};
  if (const GivenValue* input = arguments.find("input"); input != nullptr) {
    options.picture = sample_from(input->text, input->where);
  } else if (!arguments.model().empty()) {
    options.picture = default_sample(arguments.model());
  }
  return open_dataset(data->text, options);
}

CompileRequest make_request(const Arguments& arguments, const Dataset* dataset) {
  CompileRequest request;
  request.model = make_model(arguments, dataset);
  build_model(request.model, op_table());  // what the network refuses is said before anything is printed or written
  request.batch = arguments.integer("batch", kDefaultBatch);
  if (dataset != nullptr) {
    require(request.batch <= dataset->count(Split::train), arguments.where("batch"), ": found ", request.batch,
            ", but '", dataset->info().name, "' has ", dataset->count(Split::train), " training samples");
    request.train_samples = dataset->count(Split::train);
    request.test_samples = dataset->count(Split::test);
  }
  request.microbatch = microbatch_from(arguments, request.batch);
  request.optimizer = make_optimizer(arguments);
  request.precision = arguments.text("precision", "f32") == "bf16" ? DType::bf16 : DType::f32;
  request.master = arguments.text("master", "f32") == "none" ? Master::none : Master::f32;
  request.sparsity = arguments.number("sparsity", 0);
  require(request.sparsity > 0 || !arguments.has("sparse-method"), arguments.where("sparse-method"),
          ": goes with --sparsity, such as --sparsity 0.8");
  request.allowed = allowed_levers(arguments);
  for (const std::string_view name : {"spill", "spill-bandwidth"}) {
    require(request.allowed.contains("offload") || !arguments.has(name), arguments.where(name),
            ": goes with --allow offload");
  }
  if (const GivenValue* bandwidth = arguments.find("spill-bandwidth"); bandwidth != nullptr)
    request.spill_bandwidth = static_cast<double>(size_from(bandwidth->text, bandwidth->where, ""));
  request.target = make_target(arguments);
  if (dataset != nullptr) request.loading_bytes = loading_bytes(*dataset, request.target.threads);
  request.recompute = recompute_from_name(arguments.text("recompute", "auto"));
  request.configuration.skipped_passes = skipped_passes(arguments);
  if (const GivenValue* tensors = arguments.find("tensor-memory"); tensors != nullptr) {
    request.tensor_memory = size_from(tensors->text, tensors->where, "");
  }
  if (const GivenValue* memory = arguments.find("memory"); memory != nullptr) {
    request.memory = budget_from(memory->text, memory_limit_bytes(), memory->where);
  }
  add_costs(arguments, request);
  const bool is_run =
      arguments.verb() == Verb::train || arguments.verb() == Verb::plan || arguments.verb() == Verb::bench;
  request.changing = is_run && (arguments.has("control") || follows_limits(arguments));
  require(request.changing || !request.allowed.contains("microbatch-change"), arguments.where("allow"),
          ": microbatch-change goes with a budget that changes: --control PIPE or --memory auto");
  return request;
}

std::string spill_folder(const Arguments& arguments, const CompileRequest& request) {
  std::string folder = arguments.text("spill", "");
  require(!request.allowed.contains("offload") || !folder.empty(), arguments.where("allow"),
          ": offload found no folder for its file, wanted --spill DIR");
  return folder;
}

TrainOptions make_train_options(const Arguments& arguments, const Dataset& dataset) {
  TrainOptions options;
  options.compile = make_request(arguments, &dataset);
  const std::int64_t batch = options.compile.batch;
  const std::int64_t batches_per_epoch = (dataset.count(Split::train) + batch - 1) / batch;
  options.iterations = iterations_from(arguments, batches_per_epoch);
  options.learning_rate = make_learning_rate(arguments, options.iterations, batches_per_epoch);
  options.augmentation = augmentation_for(arguments, dataset);
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0));
  options.evaluate_every = arguments.integer("eval-every", 0);
  options.save_every = arguments.integer("save-every", 0);
  options.keep_checkpoints = static_cast<int>(std::min<std::int64_t>(arguments.integer("keep", 2), 1'000'000));
  options.resume = arguments.has("resume");
  options.out_folder = options.resume ? arguments.text("resume", "") : arguments.text("out", "");
  options.initial_weights = arguments.text("weights", "");
  options.spill_folder = spill_folder(arguments, options.compile);
  options.sparse.method = arguments.text("sparse-method", "dsr") == "static" ? SparseOptions::Method::fixed
                                                                             : SparseOptions::Method::dynamic;
  return options;
}

}  // namespace thimble::cli
