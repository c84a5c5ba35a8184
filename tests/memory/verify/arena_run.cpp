#include "memory/verify/arena_run.h"

#include <cstring>
#include <memory>

#include "base/call.h"

namespace thimble::testing {
namespace {

constexpr int kRubbish = 0xff;  // not a number in every floating type, and no label

struct FreeAligned {
  void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{64}); }
};

enum class Moment : std::uint8_t { at_start, at_wait };

class ArenaRun {
 public:
  ArenaRun(const RealPlan& plan, Moment moment)
      : plan_(plan),
        moment_(moment),
        arena_(new (std::align_val_t{64}) std::byte[static_cast<std::size_t>(plan.set.arena_bytes)]),
        spill_(static_cast<std::size_t>(plan.set.spill_bytes), std::byte{kRubbish}) {}

  std::optional<std::vector<std::byte>> run() {
    std::memset(arena_.get(), kRubbish, static_cast<std::size_t>(plan_.set.arena_bytes));
    if (!load_persistents()) return std::nullopt;
    for (const Training& training : plan_.trainings) batch_ += training.phase.trains ? training.phase.samples : 0;
    std::vector<std::byte> results;
    for (std::size_t p = 0; p < plan_.trainings.size(); ++p) {
      if (!run_phase(p)) return std::nullopt;
      for (const PersistentPlace& persistent : plan_.set.persistents) {
        const bool is_spilled = persistent.space == Space::spill;
        const std::byte* first = (is_spilled ? spill_.data() : arena_.get()) + persistent.place.offset;
        results.insert(results.end(), first, first + persistent.type.bytes());
      }
    }
    return results;
  }

 private:
  bool is_inside(Bytes offset, Bytes bytes) const {
    return offset >= 0 && bytes >= 0 && offset <= plan_.set.arena_bytes && bytes <= plan_.set.arena_bytes - offset;
  }

  // Null if a tensor of this type cannot lie there.
  std::byte* at(const Place& place, const Type& type) {
    const bool is_good = is_inside(place.offset, type.bytes()) && place.offset % bytes_of(type.dtype) == 0;
    return is_good ? arena_.get() + place.offset : nullptr;
  }

  // Null if so many bytes cannot lie there.
  std::byte* in_file(Bytes offset, Bytes bytes) {
    const auto size = static_cast<Bytes>(spill_.size());
    const bool is_good = offset >= 0 && bytes >= 0 && offset <= size && bytes <= size - offset;
    return is_good && offset % kSpillBlock == 0 ? spill_.data() + offset : nullptr;
  }

  bool load_persistents() {
    for (std::size_t p = 0; p < plan_.set.persistents.size(); ++p) {
      const PersistentPlace& persistent = plan_.set.persistents[p];
      std::byte* target = persistent.space == Space::spill ? in_file(persistent.place.offset, persistent.type.bytes())
                                                           : at(persistent.place, persistent.type);
      if (target == nullptr || plan_.initial[p].size() != static_cast<std::size_t>(persistent.type.bytes()))
        return false;
      std::memcpy(target, plan_.initial[p].data(), plan_.initial[p].size());
    }
    return true;
  }

  bool fill_inputs(const Graph& graph, const PhasePlan& plan, std::size_t p) {
    for (const PlannedInput& input : plan.inputs) {
      const Value& value = graph.value(input.value);
      std::byte* target = at(input.place, value.type);
      if (target == nullptr) return false;
      const TensorView view{target, value.type.dtype, value.type.shape};
      const RandomKey key = random_key(p, RandomPurpose::test, hash_text(value.name.data(), value.name.size()));
      for (std::int64_t i = 0; i < value.type.shape.count(); ++i) {
        const auto index = static_cast<std::uint64_t>(i);
        store(view, i,
              is_floating(value.type.dtype) ? static_cast<double>(random_normal(key, index))
                                            : static_cast<double>(random_below(key, index, 3)));
      }
    }
    return true;
  }

  bool run_phase(std::size_t p) {
    const Training& training = plan_.trainings[p];
    const PhasePlan& plan = plan_.set.phases[p];
    scalars_ = {.seed = 7,
                .iteration = 3,
                .sample_offset = offset_,
                .inverse_batch = 1.0F / static_cast<float>(batch_),
                .learning_rate = 0.1F};
    offset_ += training.phase.samples;
    if (!fill_inputs(training.graph, plan, p)) return false;
    in_flight_.assign(plan.transfers.size(), false);
    started_ = 0;
    for (const PlannedStep& step : plan.steps) {
      if (step.is_transfer()) {
        if (!run_transfer(plan, step)) return false;
        continue;
      }
      if (!run_step(training.graph, step, plan_.workspaces[p][static_cast<std::size_t>(step.node.index)])) return false;
    }
    return true;
  }

  // Starts count up, so that the mover's count tells which one a wait means; a wait for what never starts has no end.
  bool run_transfer(const PhasePlan& plan, const PlannedStep& step) {
    const int index = step.starts >= 0 ? step.starts : step.waits;
    if (index >= static_cast<int>(plan.transfers.size())) return false;
    const PlannedTransfer& transfer = plan.transfers[static_cast<std::size_t>(index)];
    if (step.starts >= 0 && step.starts != started_++) return false;
    if (step.waits >= started_) return false;
    std::byte* memory =
        is_inside(transfer.arena.offset, transfer.arena.bytes) ? arena_.get() + transfer.arena.offset : nullptr;
    std::byte* file = in_file(transfer.spill.offset, round_up(transfer.arena.bytes, kSpillBlock));
    if (memory == nullptr || file == nullptr) return false;
    if (step.starts >= 0) in_flight_[static_cast<std::size_t>(index)] = true;
    if (step.starts >= 0 && moment_ == Moment::at_wait) {
      const bool is_load = transfer.direction == Direction::load;
      std::memset(is_load ? memory : file, kRubbish, static_cast<std::size_t>(transfer.arena.bytes));
      return true;
    }
    const bool is_due = step.starts >= 0 || moment_ == Moment::at_wait;
    if (!is_due || !in_flight_[static_cast<std::size_t>(index)]) return true;
    in_flight_[static_cast<std::size_t>(index)] = false;
    move(transfer, memory, file);
    return true;
  }

  // Through the staging memory, and in whole blocks: what else lies there is gone.
  void move(const PlannedTransfer& transfer, std::byte* memory, std::byte* file) {
    const auto bytes = static_cast<std::size_t>(transfer.arena.bytes);
    const auto blocks = static_cast<std::size_t>(round_up(transfer.arena.bytes, kSpillBlock));
    if (transfer.direction == Direction::load) {
      std::memcpy(memory, file, bytes);
    } else {
      std::memcpy(file, memory, bytes);
      std::memset(file + bytes, kRubbish, blocks - bytes);
    }
    const Place& staging = plan_.set.staging;
    if (is_inside(staging.offset, staging.bytes))
      std::memset(arena_.get() + staging.offset, kRubbish, static_cast<std::size_t>(staging.bytes));
  }

  bool add_views(const std::vector<Place>& places, const std::vector<Type>& types, std::vector<TensorView>& views) {
    if (places.size() != types.size()) return false;
    for (std::size_t k = 0; k < places.size(); ++k) {
      std::byte* data = at(places[k], types[k]);
      if (data == nullptr) return false;
      views.push_back({data, types[k].dtype, types[k].shape});
    }
    return true;
  }

  bool spoil(const Place& workspace, Bytes bytes) {
    if (bytes == 0) return true;
    if (!is_inside(workspace.offset, bytes)) return false;
    std::memset(arena_.get() + workspace.offset, kRubbish, static_cast<std::size_t>(bytes));
    return true;
  }

  // The kernel takes what it asked for, however little it was given.
  bool run_step(const Graph& graph, const PlannedStep& step, Bytes workspace_bytes) {
    const Node& node = graph.node(step.node);
    const Graph::NodeTypes types = graph.types_of(step.node);
    std::vector<TensorView> in, out;
    if (!add_views(step.in, types.in, in) || !add_views(step.out, types.out, out)) return false;
    if (node.op->is_view) return true;
    if (has_shifted_pool(step, types) || !spoil(step.workspace, workspace_bytes)) return false;
    node.op->reference(types.query(node),
                       {.in = in, .out = out, .workspace = nullptr, .scalars = &scalars_, .threads = 1});
    return spoil(step.workspace, workspace_bytes);
  }

  // A pool that is written beside itself is copied first, which for overlapping ranges is undefined.
  static bool has_shifted_pool(const PlannedStep& step, const Graph::NodeTypes& types) {
    for (std::size_t o = 0; o < types.out.size(); ++o) {
      if (types.out[o].layout != Layout::pooled || step.in[o].offset == step.out[o].offset) continue;
      const Bytes distance = step.in[o].offset - step.out[o].offset;
      if (distance < types.out[o].bytes() && -distance < types.out[o].bytes()) return true;
    }
    return false;
  }

  const RealPlan& plan_;
  Moment moment_;
  std::unique_ptr<std::byte[], FreeAligned> arena_;
  std::vector<std::byte> spill_;
  RunScalars scalars_;
  std::int64_t batch_ = 0;
  std::int64_t offset_ = 0;
  std::vector<bool> in_flight_;  // by transfer of the phase
  int started_ = 0;
};

}  // namespace

std::optional<std::vector<std::byte>> run_iteration(const RealPlan& plan) {
  std::optional<std::vector<std::byte>> results = ArenaRun(plan, Moment::at_start).run();
  if (!results || plan.set.spill_bytes == 0) return results;
  const std::optional<std::vector<std::byte>> late = ArenaRun(plan, Moment::at_wait).run();
  if (!late) return std::nullopt;
  results->insert(results->end(), late->begin(), late->end());
  return results;
}

}  // namespace thimble::testing
