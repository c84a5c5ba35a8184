#include "cli/fit.h"

#include "cli/advice.h"
#include "report/plan_report.h"
#include "report/table.h"

namespace thimble::cli {
namespace {

constexpr std::size_t kShownTensors = 12;

// Each takes seconds to try, so it is told as soon as it is known.
void print_advice(std::FILE* out, const CompileRequest& request, Bytes smallest_memory, OpTable ops,
                  KernelTable kernels) {
  std::fprintf(out, "\nTrying what would help, each by itself:\n");
  std::fflush(out);
  bool is_any = false;
  try_options(request, smallest_memory, ops, kernels, [&](const Advice& advice) {
    is_any = true;
    std::fprintf(out, "  %-44s %s\n", advice.option.c_str(),
                 advice.fits ? "fits" : ("needs " + to_mib(advice.smallest_memory)).c_str());
    std::fflush(out);
  });
  if (!is_any) std::fprintf(out, "  nothing tried here brings it down; a smaller model or input would\n");
}

void print_verdict(std::FILE* out, const CompileRequest& request, const CompileResult& result) {
  const Compiled& smallest = *result.smallest;
  std::fprintf(out, "%s\n", request_line(request, smallest.microbatch).c_str());
  const bool is_of_tensors = request.tensor_memory && result.smallest_tensor_bytes > *request.tensor_memory;
  if (is_of_tensors) {
    std::fprintf(out, "The tensors do not fit %s: the smallest arena that works is %s.\n",
                 to_bytes_text(*request.tensor_memory).c_str(), to_bytes_text(result.smallest_tensor_bytes).c_str());
  }
  if (!is_of_tensors || (request.memory && result.smallest_memory > *request.memory)) {
    std::fprintf(out, "Does not fit %s: the smallest budget that works is %s.\n",
                 to_bytes_text(request.memory.value_or(0)).c_str(), to_bytes_text(result.smallest_memory).c_str());
  }
  std::fprintf(out, "That is an arena of %s and a reserve of %s, with microbatch %lld.\n",
               to_mib(smallest.point.arena_bytes).c_str(), to_mib(smallest.reserve.total()).c_str(),
               static_cast<long long>(smallest.microbatch));
}

}  // namespace

void refuse_for_people(const CompileRequest& request, const CompileResult& result, OpTable ops, KernelTable kernels) {
  print_verdict(stdout, request, result);
  print_alive(stdout, *result.smallest, kShownTensors);
  std::printf("Parameters and optimizer state take %s.\n", to_mib(result.smallest->plans.persistent_bytes).c_str());
  print_advice(stdout, request, result.smallest_memory, ops, kernels);
}

void refuse_as_json(const CompileRequest& request, const CompileResult& result) {
  JsonWriter json(stdout);
  json.begin_object();
  write_plan_fields(json, figures_of(*result.smallest), false);
  json.integer("smallest_budget_bytes", result.smallest_memory);
  json.integer("smallest_tensor_bytes", result.smallest_tensor_bytes);
  json.end_object();
  print_verdict(stderr, request, result);
}

}  // namespace thimble::cli
