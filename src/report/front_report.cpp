#include "report/front_report.h"

#include "report/table.h"

namespace thimble {
namespace {

double over(double a, double b) { return b > 0 ? a / b : 0; }

std::string command_for(const FrontReport& report, const PointSummary& point) {
  return join_text(report.command, " --microbatch ", point.microbatch, " --memory ", point.process_bytes, "B");
}

bool fits(const FrontReport& report, const PointSummary& point) {
  return !report.budget || point.process_bytes <= *report.budget;
}

}  // namespace

void print_front(std::FILE* out, const FrontReport& report) {
  const PointSummary& fastest = report.points.front();
  Table table;
  table.add({"arena", "", "of fastest", "process", "time", "recomputed", "moved", "strategy", ""});
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
               point.strategy, mark});
  }
  table.print(out, 0);
  if (!is_chosen) std::fprintf(out, "None of these fits %s.\n", to_mib(*report.budget).c_str());
  std::fprintf(out,
               "\n'process' is what --memory has to allow; time is predicted, 1 is the fastest. For example:\n  %s\n",
               command_for(report, report.points.back()).c_str());
}

void write_front(JsonWriter& json, const FrontReport& report) {
  const PointSummary& fastest = report.points.front();
  json.begin_array();
  for (const PointSummary& point : report.points) {
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
    if (report.budget) json.boolean("fits", fits(report, point));
    json.text("command", command_for(report, point));
    json.end_object();
  }
  json.end_array();
}

}  // namespace thimble
