#include "goldens/golden_run.h"

#include <cstring>

#include "base/error.h"
#include "ops/table.h"

namespace thimble::testing {
namespace {

Compiled compile_recipe(const Recipe& recipe, const GoldenRunOptions& options) {
  CompileRequest request;
  request.model = recipe.model;
  request.batch = recipe.batch;
  request.microbatch = options.microbatch;
  request.test_samples = options.evaluates ? recipe.batch : 0;
  request.optimizer = options.optimizer;
  request.target = {detect_isa(), kThreads};
  request.configuration.reuse = request.configuration.in_place = !options.keep_all;
  if (options.smallest) request.tensor_memory = 1;
  CompileResult result = compile(request, op_table(), cpu_kernels());
  if (options.smallest) return std::move(*result.smallest);
  ensure(result.compiled.has_value(), "goldens: without a budget everything fits");
  return std::move(*result.compiled);
}

// Where the phase's plan puts the value of that name.
TensorView planned_view(const Selected& selected, const PhasePlan& plan, std::string_view name, std::byte* arena) {
  for (const PlannedStep& step : plan.steps) {
    const Node& node = selected.graph().node(step.node);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const Value& value = selected.graph().value(node.outputs[k]);
      if (value.name == name) return {arena + step.out[k].offset, value.type.dtype, value.type.shape};
    }
  }
  fail_internal(join_text("goldens: no step makes '", name, "'"));
}

}  // namespace

GoldenRun::GoldenRun(const Recipe& recipe, const GoldenRunOptions& options)
    : recipe_(recipe), keep_all_(options.keep_all), compiled_(compile_recipe(recipe, options)) {
  arena_ = std::make_unique<Arena>(compiled_.plans.arena_bytes);
  program_ = std::make_unique<Program>(compiled_.phases, compiled_.plans, *arena_, ProgramOptions{});
  std::memset(arena_->data(), 0, static_cast<std::size_t>(compiled_.plans.persistent_bytes));
  for (const TensorSpec& spec : compiled_.tensors) draw_tensor(recipe_, spec, program_->persistent(spec.name));
}

double GoldenRun::run(const std::vector<PhaseTurn>& turns, std::int64_t batch_index, RunScalars scalars) {
  double loss = 0;
  logits_.clear();
  scalars.inverse_batch = 1.0F / static_cast<float>(recipe_.batch);
  for (const PhaseTurn& turn : turns) {
    const int phase = program_->phase_index(turn.phase);
    draw_images(recipe_, batch_index, turn.offset, program_->input(phase, kImages));
    draw_labels(recipe_, batch_index, turn.offset, program_->input(phase, kLabels));
    scalars.sample_offset = turn.offset;
    ensure(program_->run(phase, scalars) == Status::good, "goldens: a step failed");
    loss += load(program_->persistent(kLoss), 0);
    if (keep_all_) collect_logits(static_cast<std::size_t>(phase));
  }
  return loss;
}

void GoldenRun::shift(const std::vector<Shift>& shifts) {
  for (const auto& [parameter, values] : shifts) {
    const TensorView bias = tensor(parameter);
    ensure(bias.shape.count() == static_cast<std::int64_t>(values.size()), "goldens: ", values.size(), " shifts of '",
           parameter, "', wanted ", bias.shape.count());
    for (std::int64_t i = 0; i < bias.shape.count(); ++i) {
      store(bias, i, load(bias, i) + values[static_cast<std::size_t>(i)]);
    }
  }
}

double GoldenRun::train_step(std::int64_t batch_index, std::int64_t iteration, float learning_rate) {
  return run(iteration_turns(recipe_.batch, compiled_.microbatch), batch_index,
             {.iteration = iteration, .learning_rate = learning_rate});
}

double GoldenRun::evaluate(std::int64_t batch_index) {
  return run(evaluation_turns(recipe_.batch, compiled_.evaluation_samples), batch_index, {});
}

void GoldenRun::collect_logits(std::size_t phase) {
  const TensorView view = planned_view(compiled_.phases[phase], compiled_.plans.phases[phase], kLogits, arena_->data());
  for (std::int64_t i = 0; i < view.shape.count(); ++i) logits_.push_back(load(view, i));
}

std::vector<double> GoldenRun::logits() const {
  ensure(!logits_.empty(), "goldens: no logits were kept");
  return logits_;
}

void GoldenRun::copy_tensors_from(const GoldenRun& other) {
  for (const TensorSpec& spec : compiled_.tensors) {
    const TensorView from = other.tensor(spec.name), to = tensor(spec.name);
    std::memcpy(to.data, from.data, static_cast<std::size_t>(spec.type.bytes()));
  }
}

}  // namespace thimble::testing
