#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "cli/commanded_budget.h"
#include "cli/config.h"
#include "cli/fit.h"
#include "cli/process.h"
#include "cli/request.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "formats/checkpoint_store.h"
#include "formats/manifest.h"
#include "formats/publish.h"
#include "ops/table.h"
#include "report/train_log.h"
#include "report/waiting_line.h"
#include "run/meter.h"

namespace thimble::cli {
namespace {

constexpr std::string_view kOptionsFile = "options.toml";

bool is_path(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string options_path(const std::string& folder) { return join_text(folder, "/", kOptionsFile); }

// The options kept in the run's folder stand behind flags and config.
void read_resumed(Arguments& arguments) {
  const std::string folder = arguments.text("resume", "");
  require(!arguments.has("out"), "found both --resume and ", arguments.where("out"),
          ", wanted one: a resumed run goes on in its own folder");
  require(is_path(folder), "--resume ", folder, ": found no such folder; a run is begun with --out ", folder);
  if (is_path(options_path(folder))) {
    read_config(options_path(folder), Source::resumed, arguments);
  } else {
    require(!is_path(join_text(folder, "/", kManifestName)), "--resume ", folder,
            ": found a single checkpoint, wanted the folder above it, which holds the run");
    require(!list_checkpoints(folder).empty(), "--resume ", folder, ": found neither ", kOptionsFile,
            " nor checkpoints, wanted the --out folder of an earlier run");
    require(!arguments.model().empty(), "--resume ", folder, ": found no ", kOptionsFile,
            " there, so give the model and its options as they were");
  }
  const GivenValue* weights = arguments.find("weights");
  require(weights == nullptr || weights->source == Source::resumed, arguments.where("weights"),
          ": a resumed run goes on with its own weights; leave out one of the two");
}

// Before minutes are spent on planning.
void check_weights(const TrainOptions& options) {
  if (!options.initial_weights.empty() && !options.resume) open_to_read(options.initial_weights);
}

void check_writable(const std::string& folder) {
  if (folder.empty()) return;
  make_folders(folder);
  if (access(folder.c_str(), W_OK | X_OK) != 0) fail_io("write to folder", folder);
}

bool has_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view text = value;
    return text.find("UTF-8") != text.npos || text.find("utf8") != text.npos;
  }
  return false;
}

ProgressStyle make_style(const Arguments& arguments) {
  ProgressStyle style{.has_unicode = has_utf8(), .out = arguments.flag("json") ? stderr : stdout};
  const std::string kind = arguments.text("progress", "auto");
  using Kind = ProgressStyle::Kind;
  // A bar in a file would be carriage returns: even one that is asked for becomes lines there.
  style.kind = kind == "none"                                        ? Kind::none
               : kind != "plain" && redrawable(style.out) != nullptr ? Kind::bar
                                                                     : Kind::plain;
  return style;
}

// The log, and the options in force written beside the checkpoints once it is known that the run will begin.
class RunLog : public TrainLog {
 public:
  RunLog(const TrainOptions& options, const DatasetInfo& data, const ProgressStyle& style, const Arguments& arguments)
      : TrainLog(options, data, style), folder_(options.out_folder), arguments_(arguments) {}

  // Before the plan is made; `out` may be null.
  void expect_plan(std::FILE* out) {
    waiting_out_ = out;
    waiting_.emplace(out, "planning " + arguments_.model());
  }
  void expect_none() { waiting_.reset(); }

  void on_note(const std::string& note) override {
    const bool is_waiting = waiting_.has_value();
    waiting_.reset();  // the note takes its place
    TrainLog::on_note(note);
    if (is_waiting) expect_plan(waiting_out_);
  }

  void on_compiled(const Compiled& compiled) override {
    waiting_.reset();
    TrainLog::on_compiled(compiled);
    if (!folder_.empty()) keep_options(compiled);
    release_idle_memory();
  }

 private:
  void keep_options(const Compiled& compiled) const {
    Arguments kept(Verb::train);
    if (!arguments_.model().empty()) kept.give_model(arguments_.model(), Source::command_line);
    for (const GivenValue& value : arguments_.values()) {
      const std::string_view name = value.option->name;
      if (name != "json" && name != "progress" && name != "out" && name != "resume" && name != "config")
        kept.give(value);
    }
    // What a resume needs for the same bits, however it is started.
    kept.resolve("threads", to_text(compiled.request.target.threads));
    kept.resolve("isa", to_text(name_of(compiled.request.target.isa)));
    // A microbatch that may change is the checkpoint's own.
    if (!compiled.request.allowed.contains("microbatch-change"))
      kept.resolve("microbatch", to_text(compiled.microbatch));
    const std::string text = config_text(kept);
    Publication file(options_path(folder_));
    file.append(std::as_bytes(std::span(text)));
    file.publish();
  }

  std::string folder_;
  const Arguments& arguments_;
  std::FILE* waiting_out_ = nullptr;
  std::optional<WaitingLine> waiting_;  // while there is no plan
};

void tell_excess(const TrainResult& result, std::optional<Bytes> budget) {
  Bytes peak = result.peak_resident_bytes;
  for (const BudgetSegment& segment : result.segments) {
    if (!segment.is_exceeded()) continue;
    peak = *segment.peak_bytes;
    budget = segment.budget;
  }
  std::fprintf(stderr,
               "thimble: a fault of thimble's own, please report it: %s were resident, more than the budget of %s%s\n",
               to_bytes_text(peak).c_str(), to_bytes_text(budget.value_or(0)).c_str(),
               result.checkpoint.empty() ? "" : "; the state is saved");
}

ExitCode tell_end(const TrainResult& result, const TrainOptions& options) {
  switch (result.end) {
    case TrainEnd::finished: return ExitCode::good;
    case TrainEnd::does_not_fit: break;
    case TrainEnd::diverged:
      std::fprintf(stderr, "thimble: training diverged after %lld iterations: the loss is no longer a number. %s\n",
                   static_cast<long long>(result.iterations),
                   result.checkpoint.empty()
                       ? "A smaller --lr or a --warmup may help."
                       : "The last good checkpoint is kept; a smaller --lr or a --warmup may help.");
      return ExitCode::diverged;
    case TrainEnd::interrupted:
      if (options.out_folder.empty()) {
        std::fprintf(stderr, "thimble: interrupted; nothing was saved, for lack of --out\n");
      } else {
        std::fprintf(stderr, "thimble: interrupted; go on with: thimble train --resume %s\n",
                     options.out_folder.c_str());
      }
      return ExitCode::interrupted;
    case TrainEnd::over_budget: tell_excess(result, options.compile.memory); return ExitCode::ours;
  }
  return ExitCode::ours;
}

}  // namespace

ExitCode run_train(const Arguments& given) {
  Arguments arguments = given;
  if (arguments.has("resume")) read_resumed(arguments);
  require(!arguments.model().empty(), "train: found no model, wanted one behind the verb");
  const auto dataset = open_data(arguments);
  require(dataset != nullptr, "train: found no --data, wanted a data set's name or folder; 'thimble data' lists them");
  const TrainOptions options = make_train_options(arguments, *dataset);
  check_weights(options);
  check_writable(options.out_folder);
  const ProgressStyle style = make_style(arguments);
  RunLog log(options, dataset->info(), style, arguments);
  if (const Bytes limit = memory_limit_bytes(); options.compile.memory.value_or(0) > limit) {
    log.on_note(join_text("the budget is more than the ", to_mib(limit), " that this process may use at all"));
  }
  std::optional<CommandedBudget> budget;
  if (options.compile.changing) budget.emplace(arguments.text("control", ""), follows_limits(arguments));
  log.expect_plan(style.kind == ProgressStyle::Kind::none ? nullptr : redrawable(stderr));
  release_idle_memory();
  const TrainResult result =
      train(options, *dataset, op_table(), cpu_kernels(), log, stop_on_signal(), budget ? &*budget : nullptr);
  const bool writes_json = arguments.flag("json");
  if (result.end == TrainEnd::does_not_fit) {
    log.expect_none();
    writes_json ? refuse_as_json(options.compile, result.compile)
                : refuse_for_people(options.compile, result.compile, op_table(), cpu_kernels());
    return ExitCode::does_not_fit;
  }
  log.print_closing(result);
  if (writes_json) {
    JsonWriter json(stdout);
    write_train_json(json, *log.figures(), result);
  }
  return tell_end(result, options);
}

}  // namespace thimble::cli
