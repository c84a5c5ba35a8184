#include "report/train_log.h"

#include <algorithm>

#include "report/plan_report.h"
#include "report/table.h"

namespace thimble {
namespace {

// Behind an accuracy: what it is a share of, where that is not the samples.
const char* counted(const DatasetInfo& data) { return data.has_masks ? " of places" : ""; }

void print_header(std::FILE* out, const TrainOptions& options, const DatasetInfo& data) {
  const CompileRequest& request = options.compile;
  std::fprintf(out, "data    %s, %s training and %s test samples of %s%s, augmentation %s\n", data.name.c_str(),
               with_commas(data.train_count).c_str(), with_commas(data.test_count).c_str(),
               to_text(data.sample_shape).c_str(), data.has_masks ? " with masks" : "",
               std::string(name_of(options.augmentation)).c_str());
  const double epochs = static_cast<double>(options.iterations) /
                        static_cast<double>((data.train_count + request.batch - 1) / request.batch);
  std::fprintf(out, "run     %s iterations (%.3g epochs), lr %g %s, seed %llu%s%s\n",
               with_commas(options.iterations).c_str(), epochs, options.learning_rate.peak,
               std::string(name_of(options.learning_rate.kind)).c_str(), static_cast<unsigned long long>(options.seed),
               options.out_folder.empty() ? "; no --out: nothing is written" : ", in ", options.out_folder.c_str());
  std::fprintf(out, "budget  %s\n", request.memory ? to_bytes_text(*request.memory).c_str() : "none");
  std::fflush(out);
}

std::string budget_text(const std::optional<Bytes>& budget) { return budget ? to_mib(*budget) : "none"; }

std::string delay_text(const BudgetSegment& segment) {
  return join_text(segment.delay_microbatches, segment.delay_microbatches == 1 ? " microbatch" : " microbatches",
                   format(", %.3f s", segment.delay_seconds));
}

// Every budget the run was under, with the promise made for it and what was measured.
void print_segments(std::FILE* out, const std::vector<BudgetSegment>& segments) {
  Table table;
  table.add({"from iteration", "budget", "promised", "measured", "", "microbatch", "delay"});
  for (const BudgetSegment& segment : segments) {
    const bool is_first = &segment == &segments.front();
    table.add({with_commas(segment.iteration), budget_text(segment.budget), to_mib(segment.promised_bytes),
               segment.peak_bytes ? to_mib(*segment.peak_bytes) : "-",
               segment.is_exceeded()                  ? "EXCEEDED"
               : segment.budget && segment.peak_bytes ? "held"
                                                      : "",
               to_text(segment.microbatch), is_first ? "" : delay_text(segment)});
  }
  std::fprintf(out, "\n");
  table.print(out, 0);
}

double share(Bytes a, Bytes b) { return static_cast<double>(a) / static_cast<double>(b > 0 ? b : 1); }

}  // namespace

TrainLog::TrainLog(const TrainOptions& options, const DatasetInfo& data, const ProgressStyle& style)
    : out_(style.out),
      is_quiet_(style.kind == ProgressStyle::Kind::none),
      counted_(counted(data)),
      progress_(style, options.compile.memory) {
  if (!is_quiet_) print_header(out_, options, data);
}

void TrainLog::on_compiled(const Compiled& compiled) {
  figures_ = figures_of(compiled);
  if (is_quiet_) return;
  progress_.say("model   " + request_line(compiled.request, compiled.microbatch));
  progress_.say(
      join_text("plan    arena ", to_mib(figures_->tensor_bytes),
                format(" (%.2f of the lower bound)", share(figures_->tensor_bytes, figures_->lower_bound_bytes)),
                ", process at most ", to_mib(figures_->process_bytes), ", recomputes ",
                to_percent(figures_->recompute_flops_ratio), "; conventional: ", to_mib(figures_->baseline_bytes)));
  if (figures_->cost == CostSource::measured) progress_.say("costs   " + coverage_text(figures_->coverage));
}

void TrainLog::on_note(const std::string& note) { progress_.say("note    " + note); }

void TrainLog::on_evaluation(const EvaluationFacts& facts) {
  if (is_quiet_) return;
  progress_.say(format("test    iteration %lld  loss %.4f  accuracy %.2f %%%s", static_cast<long long>(facts.iteration),
                       facts.loss, 100 * facts.accuracy, counted_));
}

void TrainLog::on_checkpoint(const std::string& path) {
  if (!is_quiet_) progress_.say("saved   " + path);
}

void TrainLog::on_budget(const BudgetSegment& left, const BudgetSegment& entered) {
  progress_.set_budget(entered.budget);
  if (is_quiet_) return;
  progress_.say(join_text("budget  ", budget_text(left.budget), " -> ", budget_text(entered.budget), " in iteration ",
                          entered.iteration, ": arena ", to_mib(left.arena_bytes), " -> ", to_mib(entered.arena_bytes),
                          ", microbatch ", entered.microbatch, ", after ", delay_text(entered), "; before at most ",
                          left.peak_bytes ? to_mib(*left.peak_bytes) + " resident" : "(not measured)"));
}

void TrainLog::print_closing(const TrainResult& result) {
  progress_.finish();
  if (is_quiet_ || !figures_) return;
  Table table;
  const auto add = [&](const char* name, Bytes bytes, std::string note) {
    table.add({name, to_mib(bytes), with_commas(bytes) + " B", std::move(note)});
  };
  add("conventional", figures_->baseline_bytes, "tensors alone, kept by conventional rules");
  add("planned", figures_->tensor_bytes,
      format("arena: %.1f times less", share(figures_->baseline_bytes, figures_->tensor_bytes)));
  add("promised", figures_->process_bytes, "arena and reserve");
  add("measured", result.peak_resident_bytes, "the most that was resident, ever");
  const bool has_changed = result.segments.size() > 1;
  if (figures_->budget_bytes && !has_changed)
    add("budget", *figures_->budget_bytes, result.peak_resident_bytes <= *figures_->budget_bytes ? "held" : "EXCEEDED");
  std::fprintf(out_, "\n");
  table.print(out_, 0);
  if (has_changed) print_segments(out_, result.segments);
  std::fprintf(out_, "%s iterations, loss %.4f", with_commas(result.iterations).c_str(), result.train_loss);
  if (result.samples_per_second > 0) std::fprintf(out_, ", %.1f samples/s", result.samples_per_second);
  if (const TransferTimes& t = result.transfers; t.moving_seconds > 0)
    std::fprintf(out_, ", %.0f %% of transfers overlapped",
                 100 * std::max(0.0, 1 - t.waiting_seconds / t.moving_seconds));
  if (result.test_accuracy) std::fprintf(out_, ", test accuracy %.2f %%%s", 100 * *result.test_accuracy, counted_);
  std::fprintf(out_, "\n");
  if (!result.checkpoint.empty()) std::fprintf(out_, "newest checkpoint: %s\n", result.checkpoint.c_str());
}

namespace {

void write_segments(JsonWriter& json, const std::vector<BudgetSegment>& segments) {
  json.begin_array("segments");
  for (const BudgetSegment& segment : segments) {
    json.begin_object();
    json.integer("iteration", segment.iteration);
    json.optional_integer("budget_bytes", segment.budget);
    json.integer("promised_bytes", segment.promised_bytes);
    json.integer("arena_bytes", segment.arena_bytes);
    json.optional_integer("peak_rss_bytes", segment.peak_bytes);
    json.integer("microbatch", segment.microbatch);
    json.integer("delay_microbatches", segment.delay_microbatches);
    json.number("delay_seconds", segment.delay_seconds);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

void write_train_json(JsonWriter& json, const PlanFigures& figures, const TrainResult& result) {
  json.begin_object();
  write_plan_fields(json, figures, true);
  json.integer("arena_bytes", result.arena_bytes);
  json.integer("peak_rss_bytes", result.peak_resident_bytes);
  write_segments(json, result.segments);
  json.number("samples_per_second", result.samples_per_second);
  json.number("transfer_seconds", result.transfers.moving_seconds);
  json.number("transfer_wait_seconds", result.transfers.waiting_seconds);
  json.integer("iterations", result.iterations);
  json.number("train_loss", result.train_loss);
  result.test_accuracy ? json.number("test_accuracy", *result.test_accuracy) : json.null("test_accuracy");
  result.checkpoint.empty() ? json.null("checkpoint") : json.text("checkpoint", result.checkpoint);
  json.end_object();
}

}  // namespace thimble
