#include "cli/advice.h"

#include "base/error.h"
#include "cli/in_sight.h"

namespace thimble::cli {
namespace {

constexpr int kEnough = 3;

struct Trial {
  std::string option;
  CompileRequest request;
};

bool is_coupled(const CompileRequest& request, OpTable ops) {
  ModelSpec spec = request.model;
  spec.samples = 1;
  return is_batch_coupled(build_model(spec, ops).graph);
}

// Networks that come with group norm too say so in their listing: "wrn<d>-<k>[-gn]".
bool has_group_norm_twin(std::string_view name) {
  for (const ModelInfo& info : known_models()) {
    const std::string_view family = info.name.substr(0, info.name.find_first_of("<[0123456789"));
    if (info.name.ends_with("[-gn]") && name.starts_with(family)) return true;
  }
  return false;
}

// Least harmful first.
std::vector<Trial> make_trials(const CompileRequest& request, OpTable ops) {
  std::vector<Trial> trials;
  const auto add = [&](std::string option, auto&& change) {
    trials.push_back({std::move(option), request});
    change(trials.back().request);
  };
  if (request.recompute != Recompute::automatic)
    add("--recompute auto", [](CompileRequest& r) { r.recompute = Recompute::automatic; });
  if (request.microbatch) add("--microbatch auto", [](CompileRequest& r) { r.microbatch.reset(); });
  if (!request.allowed.contains("offload"))
    add("--allow offload --spill DIR", [](CompileRequest& r) { r.allowed.insert("offload"); });
  const bool coupled = is_coupled(request, ops);
  if (coupled && !request.allowed.contains("microbatch-norm")) {
    if (has_group_norm_twin(request.model.name)) {
      const std::string twin = request.model.name + "-gn";
      add(twin + " (group norm) instead of " + request.model.name, [&](CompileRequest& r) { r.model.name = twin; });
    }
    add("--allow microbatch-norm", [](CompileRequest& r) { r.allowed.insert("microbatch-norm"); });
  }
  if (request.optimizer.kind == OptimizerKind::adamw || request.optimizer.kind == OptimizerKind::nesterov) {
    add("--optimizer momentum", [](CompileRequest& r) { r.optimizer.kind = OptimizerKind::momentum; });
  }
  if (request.precision == DType::f32) add("--precision bf16", [](CompileRequest& r) { r.precision = DType::bf16; });
  if (request.master == Master::f32) {
    add(request.precision == DType::f32 ? "--precision bf16 --master none" : "--master none", [](CompileRequest& r) {
      r.precision = DType::bf16;
      r.master = Master::none;
    });
  }
  if (request.sparsity == 0) add("--sparsity 0.8", [](CompileRequest& r) { r.sparsity = 0.8; });
  if (coupled && request.batch > 1) {
    const std::int64_t half = request.batch / 2;
    add(join_text("--batch ", half), [&](CompileRequest& r) { r.batch = half; });
  }
  return trials;
}

}  // namespace

void try_options(const CompileRequest& request, Bytes smallest_memory, OpTable ops, KernelTable kernels,
                 const std::function<void(const Advice&)>& tell) {
  int fitting = 0;
  for (const Trial& trial : make_trials(request, ops)) {
    if (fitting == kEnough) return;
    const CompileResult result = compile_in_sight(trial.request, "trying " + trial.option, ops, kernels);
    if (result.smallest_memory >= smallest_memory && !result.compiled) continue;
    tell({trial.option, result.compiled.has_value(), result.smallest_memory});
    fitting += result.compiled ? 1 : 0;
  }
}

}  // namespace thimble::cli
