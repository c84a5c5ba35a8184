#include "memory/verify/real_plans.h"

#include <set>

#include "base/call.h"
#include "base/error.h"
#include "grad/differentiate.h"
#include "memory/make_plan.h"
#include "models/network.h"
#include "ops/table.h"
#include "passes/passes.h"
#include "schedule/transfers.h"

namespace thimble::testing {
namespace {

constexpr double kSparsity = 0.5;
constexpr double kClipNorm = 0.01;  // shorter than any gradient here

// A stem, a residual block with a projected shortcut and dropout, a classifier: every kind of node that a wide residual
// network has, in a few thousand operations.
Model residual_network(const ModelSpec& spec, Network::Norm norm) {
  Network net(spec, op_table());
  const ValueId stem = net.conv(net.images(), "stem", {.channels = 3});
  const ValueId a = net.relu(net.norm(stem, "norm1", norm), "relu1");
  const ValueId c1 = net.conv(a, "conv1", {.channels = 4, .stride = 2, .sparse_candidate = true});
  const ValueId b = net.dropout(net.relu(net.norm(c1, "norm2", norm), "relu2"), "dropout");
  const ValueId c2 = net.conv(b, "conv2", {.channels = 4, .sparse_candidate = true});
  const ValueId shortcut = net.conv(a, "shortcut", {.channels = 4, .kernel = 1, .stride = 2, .padding = 0});
  const ValueId sum = net.relu(net.add(c2, shortcut, "sum"), "relu3");
  return net.finish(net.linear(net.global_pool(sum, "pool"), "fc", spec.classes));
}

Model perceptron(const ModelSpec& spec) {
  Network net(spec, op_table());
  ValueId x = net.flatten(net.images(), "flat");
  x = net.dropout(net.relu(net.linear(x, "fc1", 7, true), "relu1"), "dropout1");
  x = net.dropout(net.relu(net.linear(x, "fc2", 5, true), "relu2"), "dropout2");
  return net.finish(net.linear(x, "fc3", spec.classes, true));
}

Model build(const PlanSpec& spec, const Phase& phase) {
  ModelSpec model{.name = spec.model, .samples = phase.samples, .sample = {4, 4, 2}, .classes = 3};
  model.mode = phase.trains ? Mode::training : Mode::inference;
  model.dropout = 0.3;
  switch (spec.network) {
    case NetworkKind::residual_batch_norm: return residual_network(model, Network::Norm::batch);
    case NetworkKind::residual_group_norm: return residual_network(model, Network::Norm::group);
    case NetworkKind::perceptron: model.sample = {2, 3, 1}; return perceptron(model);
    case NetworkKind::named: break;
  }
  model.sample = spec.model.starts_with("lenet") ? Shape{2, 2, 1} : Shape{4, 4, 1};
  return build_model(model, op_table());
}

std::vector<Phase> phases_of(const PlanSpec& spec) {
  if (spec.division == Division::whole_and_evaluation) return {{.samples = 2}, {.samples = 3, .trains = false}};
  return {
      {.samples = 2, .closes = false}, {.samples = 1, .opens = false, .closes = false}, {.samples = 2, .opens = false}};
}

std::vector<std::string> sparse_names(const PlanSpec& spec, const Model& model) {
  std::vector<std::string> names;
  for (const TensorSpec& tensor : model.tensors) {
    if (spec.sparse && tensor.sparse_candidate) names.push_back(tensor.name);
  }
  return names;
}

Training make_training(const PlanSpec& spec, const Phase& phase) {
  Model model = build(spec, phase);
  PassContext context;
  context.precision = spec.bf16 ? DType::bf16 : DType::f32;
  context.master = spec.bf16 ? Master::none : Master::f32;
  context.sparsity = kSparsity;
  context.sparse_tensors = sparse_names(spec, model);
  std::vector<Pass> forward = {passes::kBf16Storage, passes::kSparseParameters}, whole;
  if (spec.fused) {
    forward.insert(forward.begin(),
                   {passes::kFuseNormActivation, passes::kFuseConvActivation, passes::kFuseAddActivation});
    whole = {passes::kSplitNorms};
  }
  whole.push_back(passes::kRemoveDeadNodes);
  run_passes(model.graph, forward, context, {});
  DifferentiateOptions options;
  options.optimizer.kind = spec.optimizer;
  options.optimizer.weight_decay = 0.01;
  options.optimizer.clip_norm = spec.clips ? kClipNorm : 0;
  options.state_dtype = context.precision;
  Training training = phase.trains ? differentiate(model.graph, phase, options) : evaluation(model.graph, phase);
  run_passes(training.graph, whole, context, {});
  return training;
}

std::vector<Keep> random_keep(const Scheduler& scheduler, Dice& dice, bool spills) {
  std::vector<Keep> keep = scheduler.keep_all();
  const std::int64_t kept_of_four = dice.below(5);  // from everything recomputed to everything kept
  std::vector<ValueId> candidates = scheduler.candidates();
  candidates.insert(candidates.end(), scheduler.waiting_gradients().begin(), scheduler.waiting_gradients().end());
  for (const ValueId value : candidates) {
    Keep& choice = keep[static_cast<std::size_t>(value.index)];
    if (choice != Keep::keep || dice.below(4) < kept_of_four) continue;
    choice = dice.hits(0.5) ? Keep::retain : Keep::transient;
    if (spills && scheduler.selected().training.phase.trains && dice.hits(0.5)) choice = Keep::spill;
  }
  return keep;
}

bool is_viewed(const Graph& graph, ValueId id) {
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    const Node& node = graph.node(NodeId{n});
    if (node.op->is_view && node.inputs[0] == id) return true;
  }
  return false;
}

// Some persistent values of all phases, however small: plans here are for the verifier, not for speed.
std::set<std::string> random_homes(const std::vector<Selected>& phases, Dice& dice) {
  std::set<std::string> homes, refused;
  for (const Selected& phase : phases) {
    const Graph& graph = phase.graph();
    for (std::int32_t v = 0; v < graph.value_count(); ++v) {
      const Value& value = graph.value(ValueId{v});
      if (!is_persistent(value.role) || graph.storage_of(ValueId{v}) != ValueId{v}) continue;
      const bool is_good = value.pool.empty() && !is_viewed(graph, ValueId{v}) && dice.hits(0.5);
      (is_good ? homes : refused).insert(value.name);
    }
  }
  for (const std::string& name : refused) homes.erase(name);
  return homes;
}

Offload offload_of(const Graph& graph, const std::set<std::string>& homes, Dice& dice) {
  Offload offload{.homes = std::vector<bool>(static_cast<std::size_t>(graph.value_count()), false),
                  .ahead = static_cast<int>(dice.below(8)),
                  .bytes_per_second = 1e6};
  for (const std::string& name : homes) {
    if (const ValueId id = graph.find(name); id.is_valid()) offload.homes[static_cast<std::size_t>(id.index)] = true;
  }
  return offload;
}

// Bits of a sparse tensor's mask, as many as its slot of the pool has elements.
void fill_mask(std::vector<std::byte>& bytes, std::int64_t count, RandomKey key) {
  const std::int64_t nonzeros = sparse_nonzeros(count, kSparsity);
  for (std::int64_t n = 0; n < nonzeros; ++n) {
    const auto bit = random_permuted(key, static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(count));
    bytes[bit / 8] |= std::byte{1} << (bit % 8);
  }
}

void fill_floats(const PersistentPlace& persistent, std::vector<std::byte>& bytes, RandomKey key) {
  const TensorView view{bytes.data(), persistent.type.dtype, persistent.type.shape};
  for (std::int64_t i = 0; i < persistent.type.shape.count(); ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    // Moments and variances are positive.
    const bool is_positive = persistent.role == Role::optimizer || persistent.role == Role::statistic;
    store(view, i,
          is_positive ? 0.1 + static_cast<double>(random_uniform(key, index))
                      : 0.3 * static_cast<double>(random_normal(key, index)));
  }
}

std::vector<std::byte> initial_bytes(const PersistentPlace& persistent, const Model& model,
                                     const std::vector<std::string>& sparse) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(persistent.place.bytes));
  const RandomKey key = random_key(5, RandomPurpose::test, hash_text(persistent.name.data(), persistent.name.size()));
  if (persistent.role != Role::structure) {
    fill_floats(persistent, bytes, key);
    return bytes;
  }
  std::int64_t end = 0;
  for (std::size_t slot = 0; slot < sparse.size(); ++slot) {
    const std::int64_t count = model.graph.value(model.graph.find(sparse[slot])).type.shape.count();
    end += sparse_nonzeros(count, kSparsity);
    if (persistent.name == kSparseTable) {
      store({bytes.data(), DType::i32, persistent.type.shape}, static_cast<std::int64_t>(slot) + 1,
            static_cast<double>(end));
    } else if (persistent.name == "mask/" + sparse[slot]) {
      fill_mask(bytes, count, key);
    }
  }
  return bytes;
}

std::string_view name_of(NetworkKind kind) {
  switch (kind) {
    case NetworkKind::residual_batch_norm: return "residual, batch norm";
    case NetworkKind::residual_group_norm: return "residual, group norm";
    case NetworkKind::perceptron: return "perceptron";
    case NetworkKind::named: return "";
  }
  return "?";
}

}  // namespace

std::string describe(const PlanSpec& spec) {
  return join_text(
      name_of(spec.network), spec.model, spec.division == Division::three_microbatches ? ", microbatches, " : ", ",
      thimble::name_of(spec.optimizer), spec.fused ? ", fused" : "", spec.sparse ? ", sparse" : "",
      spec.bf16 ? ", bf16" : "", spec.clips ? ", clipped" : "", spec.spills ? ", spills" : "", ", seed ", spec.seed);
}

RealPlan make_real_plan(const PlanSpec& spec) {
  Dice dice(spec.seed);
  std::vector<Selected> selected;
  for (const Phase& phase : phases_of(spec)) {
    selected.push_back(
        select_kernels(make_training(spec, phase), {}, {.target = {}, .use_references = true, .cost = {}}));
    for (Choice& choice : selected.back().choices) choice.workspace = dice.hits(0.5) ? 0 : 1 + dice.below(600);
  }
  const std::set<std::string> homes = spec.spills ? random_homes(selected, dice) : std::set<std::string>{};
  std::vector<PhaseSchedule> schedules;
  for (const Selected& phase : selected) {
    const Scheduler scheduler(phase);
    schedules.push_back(scheduler.make(random_keep(scheduler, dice, spec.spills)));
    if (spec.spills) add_transfers(phase, offload_of(phase.graph(), homes, dice), schedules.back());
  }
  std::vector<ScheduledPhase> scheduled;
  for (std::size_t p = 0; p < selected.size(); ++p) scheduled.push_back({&selected[p], &schedules[p]});
  PlanOptions options;
  options.buffers = {.in_place = dice.hits(0.8), .reuse = dice.hits(0.9)};
  options.guard = dice.hits(0.1) ? 64 : 0;

  RealPlan plan;
  plan.set = make_plan_set(scheduled, options);
  const Model model = build(spec, phases_of(spec)[0]);
  for (const PersistentPlace& persistent : plan.set.persistents) {
    plan.initial.push_back(initial_bytes(persistent, model, sparse_names(spec, model)));
  }
  for (Selected& phase : selected) {
    std::vector<Bytes>& workspace = plan.workspaces.emplace_back();
    for (const Choice& choice : phase.choices) workspace.push_back(choice.workspace);
    plan.trainings.push_back(std::move(phase.training));
  }
  return plan;
}

std::optional<std::string> fault_of(const std::vector<Training>& trainings,
                                    const std::vector<std::vector<Bytes>>& workspaces, const PlanSet& set) {
  std::vector<PhaseToVerify> phases;
  for (std::size_t p = 0; p < trainings.size(); ++p) phases.push_back({&trainings[p], workspaces[p]});
  return find_fault(phases, set);
}

}  // namespace thimble::testing
