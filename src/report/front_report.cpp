#include "report/front_report.h"

#include <algorithm>

#include "report/plan_report.h"
#include "report/table.h"

namespace thimble {
namespace {

double over(double a, double b) { return b > 0 ? a / b : 0; }

bool fits(const FrontReport& report, const PointSummary& point) {
  return !report.budget || point.process_bytes <= *report.budget;
}

std::string levers_text(const PointSummary& point) {
  std::string text;
  for (const std::string& lever : point.levers) text += (text.empty() ? "" : ", ") + lever;
  return text;
}

}  // namespace

std::string command_for(const FrontReport& report, const PointSummary& point) {
  const bool needs_leave = std::find(point.levers.begin(), point.levers.end(), "microbatch-norm") != point.levers.end();
  const bool spills = point.spill_bytes > 0;
  std::string allow = needs_leave ? " --allow microbatch-norm" : "";
  if (spills) allow += needs_leave ? ",offload --spill DIR" : " --allow offload --spill DIR";
  // Left to itself train would choose the microbatch by the model.
  const bool names_size =
      report.cost == CostSource::measured && report.command.find(" --microbatch ") == std::string::npos;
  if (names_size) allow += join_text(" --microbatch ", point.microbatch);
  return join_text(report.command, allow, " --memory ", point.process_bytes, "B");
}

void print_front(std::FILE* out, const FrontReport& report) {
  const PointSummary& fastest = report.points.front();
  const bool has_levers =
      std::any_of(report.points.begin(), report.points.end(), [](const PointSummary& p) { return !p.levers.empty(); });
  const bool moves =
      std::any_of(report.points.begin(), report.points.end(), [](const PointSummary& p) { return p.moved_bytes > 0; });
  Table table;
  table.add({"arena", "", "of fastest", "process", "time", "recomputed", moves ? "moved" : "", "microbatch", "strategy",
             has_levers ? "changes the result" : "", ""});
  bool is_chosen = !report.budget;
  for (const PointSummary& point : report.points) {
    std::string mark;
    if (!is_chosen && fits(report, point)) {
      mark = "<- " + to_mib(*report.budget) + " takes this one";
      is_chosen = true;
    }
    table.add({with_commas(point.arena_bytes) + " B", to_mib(point.arena_bytes),
               format("%.3f", over(static_cast<double>(point.arena_bytes), static_cast<double>(fastest.arena_bytes))),
               to_mib(point.process_bytes), format("%.3f", over(point.seconds, fastest.seconds)),
               to_percent(point.recompute_flops_ratio), point.moved_bytes == 0 ? "" : to_mib(point.moved_bytes),
               std::to_string(point.microbatch), point.strategy, levers_text(point), mark});
  }
  table.print(out, 0);
  if (!is_chosen) std::fprintf(out, "None of these fits %s.\n", to_mib(*report.budget).c_str());
  if (report.cost == CostSource::measured) std::fprintf(out, "\n%s\n", coverage_text(report.coverage).c_str());
  std::fprintf(out,
               "\n'process' is what --memory has to allow; time is predicted, 1 is the fastest. For example:\n  %s\n",
               command_for(report, report.points.back()).c_str());
}

void print_strategies(std::FILE* out, const FrontReport& report) {
  if (report.strategies.empty()) return;
  const double fastest = report.points.front().seconds;
  std::fprintf(out, "\nTime within the same bytes, before placement, and what the search adds to the best strategy:\n");
  Table table;
  std::vector<std::string> head = {"arena", "search"};
  for (const StrategyRow::Entry& entry : report.strategies.front().named) head.emplace_back(name_of(entry.family));
  head.emplace_back("saves");
  table.add(std::move(head));
  for (const StrategyRow& row : report.strategies) {
    std::vector<std::string> cells = {to_mib(row.arena_bytes), format("%.3f", over(row.seconds, fastest))};
    std::optional<double> best;
    for (const StrategyRow::Entry& entry : row.named) {
      cells.push_back(entry.seconds ? format("%.3f", over(*entry.seconds, fastest)) : "-");
      if (entry.seconds) best = std::min(*entry.seconds, best.value_or(*entry.seconds));
    }
    cells.push_back(best ? to_percent(1 - over(row.seconds, *best)) : "none fits");
    table.add(std::move(cells));
  }
  table.print(out, 0);
}

namespace {

void write_point(JsonWriter& json, const FrontReport& report, const PointSummary& point) {
  const PointSummary& fastest = report.points.front();
  json.begin_object();
  json.integer("microbatch", point.microbatch);
  json.integer("arena_bytes", point.arena_bytes);
  json.integer("lower_bound_bytes", point.lower_bound_bytes);
  json.integer("process_bytes", point.process_bytes);
  json.number("arena_ratio", over(static_cast<double>(point.arena_bytes), static_cast<double>(fastest.arena_bytes)));
  json.number("seconds", point.seconds);
  json.number("time_ratio", over(point.seconds, fastest.seconds));
  json.number("recompute_flops_ratio", point.recompute_flops_ratio);
  json.integer("spill_bytes", point.spill_bytes);
  json.integer("moved_bytes", point.moved_bytes);
  json.text("strategy", point.strategy);
  json.boolean("lossless", point.levers.empty());
  json.texts("levers", point.levers);
  if (report.budget) json.boolean("fits", fits(report, point));
  json.text("command", command_for(report, point));
  json.end_object();
}

}  // namespace

void write_front(JsonWriter& json, const FrontReport& report) {
  json.begin_object();
  json.text("title", report.title);
  json.optional_integer("budget_bytes", report.budget);
  write_cost_fields(json, report.cost, report.coverage);
  json.begin_array("points");
  for (const PointSummary& point : report.points) write_point(json, report, point);
  json.end_array();
  json.begin_array("strategies");
  for (const StrategyRow& row : report.strategies) {
    json.begin_object();
    json.integer("arena_bytes", row.arena_bytes);
    json.number("search", row.seconds);
    for (const StrategyRow::Entry& entry : row.named)
      entry.seconds ? json.number(name_of(entry.family), *entry.seconds) : json.null(name_of(entry.family));
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace thimble
