#include "cli/fit.h"

#include "report/plan_report.h"
#include "report/table.h"

namespace thimble::cli {
namespace {

constexpr std::size_t kShownTensors = 12;

void print_advice(std::FILE* out, const std::vector<Advice>& advice) {
  if (advice.empty()) {
    std::fprintf(out, "\nNo option tried here brings it down; a smaller model or input would.\n");
    return;
  }
  std::fprintf(out, "\nWhat would help (each tried by itself):\n");
  Table table;
  for (const Advice& item : advice) {
    table.add({item.option, item.fits ? "fits" : "needs " + to_mib(item.smallest_memory)});
  }
  table.print(out);
}

}  // namespace

void print_refusal(std::FILE* out, const CompileRequest& request, const CompileResult& result, OpTable ops,
                   KernelTable kernels) {
  const Compiled& smallest = *result.smallest;
  std::fprintf(out, "%s\n", request_line(request, smallest.microbatch).c_str());
  std::fprintf(out, "Does not fit %s: the smallest budget that works is %s.\n",
               to_bytes_text(request.memory.value_or(0)).c_str(), to_bytes_text(result.smallest_memory).c_str());
  std::fprintf(out, "That is an arena of %s and a reserve of %s, with microbatch %lld.\n",
               to_mib(result.smallest_tensor_bytes).c_str(), to_mib(smallest.reserve.total()).c_str(),
               static_cast<long long>(smallest.microbatch));
  print_alive(out, smallest, kShownTensors);
  std::fprintf(out, "Parameters and optimizer state take %s.\n", to_mib(smallest.plans.persistent_bytes).c_str());
  print_advice(out, find_advice(request, result.smallest_memory, ops, kernels));
}

void write_refusal(JsonWriter& json, const CompileResult& result) {
  json.begin_object();
  write_plan_fields(json, figures_of(*result.smallest), false);
  json.integer("smallest_budget_bytes", result.smallest_memory);
  json.integer("smallest_tensor_bytes", result.smallest_tensor_bytes);
  json.end_object();
}

}  // namespace thimble::cli
