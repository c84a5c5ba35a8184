#include "measure/rehearsal.h"

#include <map>

#include "analysis/cost.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "select/use.h"
#include "train/initialize.h"
#include "train/session.h"

namespace thimble {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// Operands as people tell convolutions apart: vectors of channels say nothing that the larger ones do not.
std::string shape_text(const Graph::NodeTypes& types) {
  const auto append = [](std::string& text, const std::vector<Type>& list, bool skips_vectors) {
    for (const Type& type : list) {
      if (skips_vectors && type.shape.rank() < 2) continue;
      text += join_text(text.empty() || text.ends_with(' ') ? "" : " ",
                        type.dtype == DType::f32 ? "" : name_of(type.dtype), to_text(type.shape));
    }
  };
  bool has_larger = false;
  for (const std::vector<Type>* list : {&types.in, &types.out}) {
    for (const Type& type : *list) has_larger = has_larger || type.shape.rank() >= 2;
  }
  std::string text;
  append(text, types.in, has_larger);
  text += text.empty() ? "-> " : " -> ";
  append(text, types.out, has_larger);
  if (text.ends_with(" -> ")) text.resize(text.size() - 4);
  return text;
}

// The works of all phases: what each node is, found again after the graphs are gone.
class Works {
 public:
  explicit Works(const Compiled& compiled) {
    for (const Selected& selected : compiled.phases) {
      std::vector<std::size_t>& nodes = of_phases_.emplace_back();
      for (std::int32_t n = 0; n < selected.graph().node_count(); ++n) nodes.push_back(add(selected, NodeId{n}));
    }
    transfer_ = list_.size();
    list_.push_back({.op = "transfer", .kernel = "start or wait", .use = "", .shape = "arena and spill file"});
  }

  std::size_t of(int phase, NodeId node) const {
    if (!node.is_valid()) return transfer_;
    return of_phases_[static_cast<std::size_t>(phase)][static_cast<std::size_t>(node.index)];
  }

  std::vector<KernelWork> take() { return std::move(list_); }

 private:
  std::size_t add(const Selected& selected, NodeId id) {
    const Node& node = selected.graph().node(id);
    if (node.op->is_view) return kNone;
    const Choice& choice = selected.choice(id);
    const Graph::NodeTypes types = selected.graph().types_of(id);
    std::string use = use_text(choice, node, types);
    const auto [known, is_new] = by_use_.emplace(use, list_.size());
    if (is_new) {
      const NodeCost cost = cost_of(selected.graph(), id, {});
      const Demand demand = {.products = products_of(choice.kernel == nullptr ? Isa::generic : choice.kernel->isa),
                             .flops = cost.flops,
                             .bytes = cost.bytes,
                             .read_bytes = cost.read_bytes};
      list_.push_back({std::string(node.op->name), std::string(kernel_name(choice)), std::move(use), shape_text(types),
                       demand, choice.seconds});
    }
    return known->second;
  }

  std::map<std::string, std::size_t> by_use_;
  std::vector<KernelWork> list_;
  std::vector<std::vector<std::size_t>> of_phases_;
  std::size_t transfer_ = 0;
};

// Samples like those of a data set: normalised pixels, any class. Drawn alike for every microbatch.
FillInputs random_samples(const CompileRequest& request, std::uint64_t seed) {
  const RandomKey key = random_key(seed, RandomPurpose::test, 0);
  const int threads = request.target.threads;
  const auto classes = static_cast<std::uint64_t>(request.model.classes);
  return [=](const TensorView& images, const TensorView& labels) {
    parallel_for(threads, images.shape.count(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        store(images, i, static_cast<double>(random_normal(key, static_cast<std::uint64_t>(i))));
    });
    for (std::int64_t i = 0; i < labels.shape.count(); ++i)
      store(labels, i, static_cast<double>(random_below(key, static_cast<std::uint64_t>(i), classes)));
  };
}

void add_iteration(BenchTimes& times, const std::vector<TimedTurn>& turns) {
  double sum = 0;
  std::size_t next = 0;
  for (const TimedTurn& turn : turns) {
    sum += turn.seconds;
    for (const double seconds : turn.step_seconds) times.steps[next++].seconds.push_back(seconds);
  }
  times.iteration_seconds.push_back(sum);
}

}  // namespace

BenchTimes rehearse(Compiled& compiled, const RehearsalOptions& options) {
  require(options.iterations >= 1, "iterations: found ", options.iterations, ", wanted at least 1");
  const CompileRequest request = compiled.request;
  Works works(compiled);
  Session session(compiled, options.spill_folder);
  initialize(session.state(), {.seed = options.seed, .sparsity = request.sparsity, .threads = request.target.threads});
  const FillInputs fill = random_samples(request, options.seed);
  // Without a learning rate the weights stay what they are: no run of it can diverge into slow numbers.
  RunScalars scalars;
  scalars.seed = options.seed;
  BenchTimes times;
  for (const TimedTurn& turn : session.train_timed(fill, scalars)) {
    for (const NodeId node : session.steps(turn.phase)) times.steps.push_back({works.of(turn.phase, node), {}});
  }
  for (int i = 0; i < options.iterations; ++i) {
    ++scalars.iteration;
    add_iteration(times, session.train_timed(fill, scalars));
  }
  times.works = works.take();
  return times;
}

}  // namespace thimble
