#include "report/bench_report.h"

#include <cmath>

#include "report/plan_report.h"
#include "report/table.h"

namespace thimble {
namespace {

constexpr double kNegligible = 0.001;  // of an iteration: a row that takes less is not worth a line
constexpr std::string_view kFarMark = "<";

double per_second(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }
double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Some three digits that count, without an exponent.
std::string rounded(double value) {
  const int digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 4;
  return format("%.*f", digits, value);
}

std::string roof_text(const BenchRow& row) {
  return row.roof_seconds > 0 ? format("%.0f %%", 100 * row.share_of_roof()) : "";
}

std::string mark_of(const BenchRow& row) { return row.is_far_from_roof() ? std::string(kFarMark) : ""; }

void print_roofs(std::FILE* out, const Roofs& roofs) {
  std::fprintf(out, "Roofs, measured: %.0f GFLOP/s in f32", roofs.flops_per_second / 1e9);
  if (roofs.bf16_flops_per_second)
    std::fprintf(out, " (dot products of bf16: %.0f)", *roofs.bf16_flops_per_second / 1e9);
  if (roofs.matrix_flops_per_second)
    std::fprintf(out, " (matrices of bf16: %.0f)", *roofs.matrix_flops_per_second / 1e9);
  std::fprintf(out, ", %.1f GB/s of memory, %.1f where it is only read", roofs.bytes_per_second / 1e9,
               roofs.read_bytes_per_second / 1e9);
  if (roofs.cache_bytes > 0) std::fprintf(out, "; last-level cache %s", to_mib(roofs.cache_bytes).c_str());
  std::fprintf(out, "\n");
}

void print_ops(std::FILE* out, const BenchFigures& figures) {
  std::fprintf(out, "\nBy op; '<' is less than half of the roof:\n");
  Table table;
  table.add({"op", "calls", "ms", "share", "of roof", ""});
  for (const BenchRow& row : figures.ops) {
    table.add({row.op, std::to_string(row.calls), rounded(1e3 * row.seconds),
               to_percent(share(row.seconds, figures.iteration_seconds)), roof_text(row), mark_of(row)});
  }
  const double between = figures.between_seconds();
  table.add({"between steps", "", between >= 0 ? rounded(1e3 * between) : "0",
             to_percent(std::max(0.0, share(between, figures.iteration_seconds))), "", ""});
  table.print(out);
}

void print_kernels(std::FILE* out, const BenchFigures& figures) {
  std::fprintf(out, "\nBy kernel and operands:\n");
  Table table;
  table.add({"kernel", "calls", "ms", "share", "GFLOP/s", "GB/s", "roof ms", "of roof", "", "operands"});
  std::int64_t smaller = 0;
  double rest = 0;
  for (const BenchRow& row : figures.kernels) {
    const double part = share(row.seconds, figures.iteration_seconds);
    if (part < kNegligible) {
      ++smaller;
      rest += row.seconds;
      continue;
    }
    const std::string name = row.kernel == row.op ? row.op : join_text(row.op, " (", row.kernel, ")");
    table.add({name, std::to_string(row.calls), rounded(1e3 * row.seconds), to_percent(part),
               rounded(per_second(row.flops, row.seconds) / 1e9), rounded(per_second(row.bytes, row.seconds) / 1e9),
               rounded(1e3 * row.roof_seconds), roof_text(row), mark_of(row), row.shape});
  }
  if (smaller > 0) {
    table.add({join_text(smaller, " smaller ones"), "", rounded(1e3 * rest),
               to_percent(share(rest, figures.iteration_seconds))});
  }
  table.print(out);
}

void write_row(JsonWriter& json, const BenchRow& row, double iteration_seconds) {
  json.begin_object();
  json.text("op", row.op);
  if (!row.kernel.empty()) {
    json.text("kernel", row.kernel);
    json.text("use", row.use);
    json.number("call_seconds", row.call_seconds);
  }
  json.integer("calls", row.calls);
  json.number("seconds", row.seconds);
  json.number("share", share(row.seconds, iteration_seconds));
  json.number("flops", row.flops);
  json.number("bytes", row.bytes);
  json.number("flops_per_second", per_second(row.flops, row.seconds));
  json.number("bytes_per_second", per_second(row.bytes, row.seconds));
  json.number("roof_seconds", row.roof_seconds);
  row.roof_seconds > 0 ? json.number("share_of_roof", row.share_of_roof()) : json.null("share_of_roof");
  json.boolean("far_from_roof", row.is_far_from_roof());
  json.number("predicted_seconds", row.predicted_seconds);
  json.end_object();
}

void write_rows(JsonWriter& json, std::string_view key, const std::vector<BenchRow>& rows, double iteration_seconds) {
  json.begin_array(key);
  for (const BenchRow& row : rows) write_row(json, row, iteration_seconds);
  json.end_array();
}

}  // namespace

void print_bench(std::FILE* out, const BenchFacts& facts, const BenchFigures& figures) {
  std::fprintf(out, "%s\n", request_line(facts.request, facts.microbatch).c_str());
  print_roofs(out, figures.roofs);
  std::fprintf(
      out, "An iteration takes %s (median of %d, from %s to %s; predicted %s); its %s steps take %s, %s of it\n",
      to_duration(figures.iteration_seconds).c_str(), facts.iterations, to_duration(figures.fastest_seconds).c_str(),
      to_duration(figures.slowest_seconds).c_str(), to_duration(figures.predicted_seconds).c_str(),
      with_commas(figures.calls).c_str(), to_duration(figures.step_seconds).c_str(),
      to_percent(share(figures.step_seconds, figures.iteration_seconds)).c_str());
  if (facts.request.cost == CostSource::measured) std::fprintf(out, "%s\n", coverage_text(facts.coverage).c_str());
  print_ops(out, figures);
  print_kernels(out, figures);
}

void write_bench_fields(JsonWriter& json, const BenchFacts& facts, const BenchFigures& figures) {
  json.text("model", facts.request.model.name);
  json.integer("batch", facts.request.batch);
  json.integer("microbatch", facts.microbatch);
  json.text("isa", name_of(facts.request.target.isa));
  json.integer("threads", facts.request.target.threads);
  json.integer("iterations", facts.iterations);
  write_cost_fields(json, facts.request.cost, facts.coverage);
  json.begin_object("roofs");
  json.number("flops_per_second", figures.roofs.flops_per_second);
  const auto bf16 = figures.roofs.bf16_flops_per_second;
  bf16 ? json.number("bf16_flops_per_second", *bf16) : json.null("bf16_flops_per_second");
  const auto matrices = figures.roofs.matrix_flops_per_second;
  matrices ? json.number("matrix_flops_per_second", *matrices) : json.null("matrix_flops_per_second");
  json.number("bytes_per_second", figures.roofs.bytes_per_second);
  json.number("read_bytes_per_second", figures.roofs.read_bytes_per_second);
  json.integer("cache_bytes", figures.roofs.cache_bytes);
  json.end_object();
  json.number("iteration_seconds", figures.iteration_seconds);
  json.number("fastest_seconds", figures.fastest_seconds);
  json.number("slowest_seconds", figures.slowest_seconds);
  json.number("step_seconds", figures.step_seconds);
  json.number("between_seconds", figures.between_seconds());
  json.number("predicted_seconds", figures.predicted_seconds);
  json.integer("steps", figures.calls);
  write_rows(json, "ops", figures.ops, figures.iteration_seconds);
  write_rows(json, "kernels", figures.kernels, figures.iteration_seconds);
}

}  // namespace thimble
