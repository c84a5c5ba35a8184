#include "search/eviction.h"

#include <algorithm>
#include <optional>

namespace thimble {
namespace {

// Limits are nine tenths of each other; a large graph gets fewer, since a run takes the square of its values.
constexpr int kMostLimits = 20, kFewestLimits = 3;
constexpr std::size_t kWork = 40'000'000;
// Where a step's operands push each other out, each is made again for the other, and so on without end. A run that
// takes this many steps for each of the order's has come to that.
constexpr std::size_t kMostTimes = 10;

std::size_t index_of(ValueId value) { return static_cast<std::size_t>(value.index); }

// Sets of dropped values that touch each other, with the time to make all of a set again. A value that was made again
// leaves its set; that it held two others together is forgotten, as in the rule it serves.
class DroppedNeighbours {
 public:
  DroppedNeighbours(const Scheduler& scheduler, const std::vector<ValueId>& large)
      : graph_(scheduler.selected().graph()), selected_(scheduler.selected()) {
    const auto count = static_cast<std::size_t>(graph_.value_count());
    set_of_.assign(count, -1);
    neighbours_.resize(count);
    std::vector<bool> is_large(count, false);
    for (const ValueId value : large) is_large[index_of(value)] = true;
    for (std::int32_t s = 0; s < scheduler.forward_count(); ++s) {
      const Node& node = graph_.node(scheduler.order()[static_cast<std::size_t>(s)]);
      for (const ValueId in : node.inputs) {
        for (const ValueId out : node.outputs) {
          if (!is_large[index_of(in)] || !is_large[index_of(out)]) continue;
          neighbours_[index_of(in)].push_back(out);
          neighbours_[index_of(out)].push_back(in);
        }
      }
    }
  }

  double seconds_of(ValueId value) const { return selected_.choice(graph_.value(value).producer).seconds; }

  void drop(ValueId value) {
    const auto set = static_cast<std::int32_t>(parent_.size());
    parent_.push_back(set);
    seconds_.push_back(seconds_of(value));
    set_of_[index_of(value)] = set;
    for (const ValueId neighbour : neighbours_[index_of(value)]) {
      if (set_of_[index_of(neighbour)] < 0) continue;
      const std::int32_t a = find(set), b = find(set_of_[index_of(neighbour)]);
      if (a == b) continue;
      parent_[static_cast<std::size_t>(b)] = a;
      seconds_[static_cast<std::size_t>(a)] += seconds_[static_cast<std::size_t>(b)];
    }
  }

  void make_again(ValueId value) {
    std::int32_t& set = set_of_[index_of(value)];
    if (set < 0) return;
    seconds_[static_cast<std::size_t>(find(set))] -= seconds_of(value);
    set = -1;
  }

  double seconds_around(ValueId value) {
    double sum = seconds_of(value);
    std::int32_t last = -1;  // neighbours of one set mostly follow each other
    for (const ValueId neighbour : neighbours_[index_of(value)]) {
      if (set_of_[index_of(neighbour)] < 0) continue;
      const std::int32_t set = find(set_of_[index_of(neighbour)]);
      if (set != last) sum += seconds_[static_cast<std::size_t>(set)];
      last = set;
    }
    return sum;
  }

 private:
  std::int32_t find(std::int32_t set) {
    while (parent_[static_cast<std::size_t>(set)] != set)
      set = parent_[static_cast<std::size_t>(set)] =
          parent_[static_cast<std::size_t>(parent_[static_cast<std::size_t>(set)])];
    return set;
  }

  const Graph& graph_;
  const Selected& selected_;
  std::vector<std::int32_t> set_of_;  // by value; -1: not dropped
  std::vector<std::vector<ValueId>> neighbours_;
  std::vector<std::int32_t> parent_;
  std::vector<double> seconds_;
};

// One run under a limit. Sharing in place is not known to it; what it drops is judged afterwards like every schedule.
class EvictionRun {
 public:
  EvictionRun(const Scheduler& scheduler, const std::vector<ValueId>& large, Recompute family, Bytes limit)
      : scheduler_(scheduler),
        selected_(scheduler.selected()),
        graph_(selected_.graph()),
        large_(large),
        family_(family),
        limit_(limit),
        dropped_(scheduler, large),
        facts_(static_cast<std::size_t>(graph_.value_count())) {
    for (const ValueId value : scheduler.candidates()) facts_[index_of(value)].is_candidate = true;
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
      for (const ValueId input : graph_.node(NodeId{n}).inputs) ++facts_[index_of(input)].readers_left;
    }
  }

  // Nothing where the limit leaves so little that values are made again and again for each other.
  std::optional<Holding> run() {
    for (std::int32_t v = 0; v < graph_.value_count(); ++v) {
      if (!graph_.value(ValueId{v}).producer.is_valid()) settle(ValueId{v});
    }
    for (base_step_ = 0; base_step_ < scheduler_.order().size(); ++base_step_) {
      const NodeId node = scheduler_.order()[base_step_];
      if (!execute(node)) return std::nullopt;
      for (const ValueId input : graph_.node(node).inputs) --facts_[index_of(input)].readers_left;
      for (const ValueId input : graph_.node(node).inputs) release(input);
      for (const ValueId output : graph_.node(node).outputs) release(output);
    }
    std::sort(holding_.gaps.begin(), holding_.gaps.end());
    holding_.gaps.erase(std::unique(holding_.gaps.begin(), holding_.gaps.end()), holding_.gaps.end());
    return tidied(scheduler_, holding_);
  }

  Bytes most() const { return most_; }

 private:
  struct Facts {
    std::int32_t readers_left = 0;  // original steps
    std::int32_t pins = 0;          // a step is being prepared that reads it
    bool is_candidate = false;
    bool is_resident = false;
    std::size_t used_at = 0;  // base step
    double used_when = 0;     // seconds
  };

  Bytes bytes_of(ValueId id) const {
    const Value& value = graph_.value(id);
    const bool is_view = value.producer.is_valid() && graph_.node(value.producer).op->is_view;
    return is_persistent(value.role) || is_view ? 0 : value.type.bytes();
  }

  void settle(ValueId value) {
    Facts& facts = facts_[index_of(value)];
    if (!facts.is_resident) live_ += bytes_of(value);
    facts.is_resident = true;
    use(value);
  }

  void use(ValueId value) {
    facts_[index_of(value)].used_at = base_step_;
    facts_[index_of(value)].used_when = clock_;
  }

  // Whether it came to its end: not where the steps have run out.
  bool execute(NodeId id) {
    if (--steps_left_ == 0) return false;
    const Node& node = graph_.node(id);
    for (const ValueId input : node.inputs) {
      if (!facts_[index_of(input)].is_resident) {
        const NodeId producer = graph_.value(input).producer;
        if (!execute(producer)) return false;
        for (const ValueId source : graph_.node(producer).inputs) release(source);
        for (const ValueId other : graph_.node(producer).outputs) {
          if (other != input) release(other);
        }
      }
      ++facts_[index_of(input)].pins;
    }
    Bytes wanted = selected_.choice(id).workspace;
    for (const ValueId output : node.outputs) {
      if (!facts_[index_of(output)].is_resident) wanted += bytes_of(output);
    }
    while (live_ + wanted > limit_ && drop_one()) {
    }
    most_ = std::max(most_, live_ + wanted);
    clock_ += selected_.choice(id).seconds;
    for (const ValueId output : node.outputs) {
      dropped_.make_again(output);
      settle(output);
    }
    for (const ValueId input : node.inputs) {
      --facts_[index_of(input)].pins;
      use(input);
    }
    return true;
  }

  // What no original step will read again is gone at once; so is an unpacked form that is never kept.
  void release(ValueId value) {
    Facts& facts = facts_[index_of(value)];
    const NodeId producer = graph_.value(value).producer;
    if (!producer.is_valid()) return;  // what is there from outside can always be read again
    const bool never_kept = graph_.node(producer).op->never_kept;
    if (!facts.is_resident || facts.pins > 0 || (facts.readers_left > 0 && !never_kept)) return;
    if (facts.is_candidate && !never_kept) {
      drop(value);
    } else {
      facts.is_resident = false;
      live_ -= bytes_of(value);
    }
  }

  void drop(ValueId value) {
    Facts& facts = facts_[index_of(value)];
    facts.is_resident = false;
    live_ -= bytes_of(value);
    dropped_.drop(value);
    holding_.gaps.push_back({value, scheduler_.order()[facts.used_at], false});
  }

  bool drop_one() {
    ValueId best;
    double least = 0;
    for (const ValueId value : large_) {
      const Facts& facts = facts_[index_of(value)];
      if (!facts.is_resident || facts.pins > 0 || bytes_of(value) == 0) continue;
      const double score = score_of(value);
      if (best.is_valid() && score >= least) continue;
      best = value;
      least = score;
    }
    if (!best.is_valid()) return false;
    drop(best);
    return true;
  }

  double score_of(ValueId value) {
    const Type& type = graph_.value(value).type;
    if (family_ == Recompute::sage)
      return (dropped_.seconds_of(value) + 1) / (static_cast<double>(type.shape.count()) + 1);
    constexpr double kInstant = 1e-9;  // a value in use at this very moment is as fresh as can be
    const double staleness = clock_ - facts_[index_of(value)].used_when + kInstant;
    return dropped_.seconds_around(value) / (static_cast<double>(type.bytes()) * staleness);
  }

  const Scheduler& scheduler_;
  const Selected& selected_;
  const Graph& graph_;
  const std::vector<ValueId>& large_;
  Recompute family_;
  Bytes limit_, live_ = 0, most_ = 0;
  double clock_ = 0;
  std::size_t base_step_ = 0, steps_left_ = kMostTimes * scheduler_.order().size();
  DroppedNeighbours dropped_;
  std::vector<Facts> facts_;  // by value
  Holding holding_{scheduler_.keep_all()};
};

}  // namespace

std::vector<Strategy> eviction_strategies(const Scheduler& scheduler, const std::vector<ValueId>& large,
                                          Recompute family) {
  constexpr Bytes kUnlimited = Bytes{1} << 60;
  EvictionRun free_run(scheduler, large, family, kUnlimited);
  free_run.run();
  const auto limits = std::clamp<std::size_t>(kWork / std::max<std::size_t>(large.size() * large.size(), 1),
                                              kFewestLimits, kMostLimits);
  std::vector<Strategy> strategies;
  double share = 1;
  for (std::size_t k = 0; k < limits; ++k) {
    share *= 0.9;
    const auto limit = static_cast<Bytes>(share * static_cast<double>(free_run.most()));
    EvictionRun run(scheduler, large, family, limit);
    std::optional<Holding> holding = run.run();
    if (!holding) break;
    const std::string name =
        std::string(name_of(family)) + " " + std::to_string(static_cast<int>(100 * share + 0.5)) + "%";
    if (strategies.empty() || *holding != strategies.back().holding)
      strategies.push_back({name, family, std::move(*holding)});
    if (run.most() > limit) break;  // more pressure finds nothing left to drop
  }
  return strategies;
}

}  // namespace thimble
