// The verifier judged: of 10,000 altered plans every one that changes a bit of any persistent value must be refused.
// Whether it does is found by running both plans on real bytes, never by asking the verifier.
#include <gtest/gtest.h>

#include <iomanip>
#include <iostream>

#include "base/error.h"
#include "memory/verify/arena_run.h"
#include "memory/verify/mutate.h"
#include "memory/verify/phase.h"

namespace thimble::testing {
namespace {

constexpr int kMutants = 10000;

struct Count {
  int altered = 0;
  int changed = 0;           // gave another result, or could not run at all
  int changed_refused = 0;   // must equal changed
  int harmless_refused = 0;  // same result, refused all the same
};

// Plans to alter: many tiny ones of every kind, a few of published networks, which take longer to run.
std::vector<PlanSpec> plan_specs() {
  std::vector<PlanSpec> specs;
  std::uint64_t seed = 100;
  for (const NetworkKind network :
       {NetworkKind::residual_batch_norm, NetworkKind::residual_group_norm, NetworkKind::perceptron}) {
    for (const Division division : {Division::whole_and_evaluation, Division::three_microbatches}) {
      for (const OptimizerKind optimizer :
           {OptimizerKind::sgd, OptimizerKind::momentum, OptimizerKind::nesterov, OptimizerKind::adamw}) {
        PlanSpec spec{.network = network, .model = "", .division = division, .optimizer = optimizer};
        spec.seed = seed++;
        spec.fused = seed % 2 == 0;
        spec.sparse = seed % 3 == 0;
        spec.bf16 = seed % 5 == 0;
        spec.spills = seed % 4 < 2;
        spec.clips = seed % 4 == 1 || seed % 4 == 2;
        specs.push_back(spec);
      }
    }
  }
  for (const std::string_view model : {"wrn10-1", "wrn10-1-gn", "lenet-300-100"}) {
    specs.push_back({.network = NetworkKind::named, .model = std::string(model), .fused = true, .seed = seed++});
    specs.back().clips = model == "wrn10-1-gn";
  }
  return specs;
}

int mutants_of(const PlanSpec& spec) { return spec.network == NetworkKind::named ? 40 : (kMutants - 3 * 40) / 24; }

bool is_refused_by_execution(const RealPlan& plan) {
  for (std::size_t p = 0; p < plan.trainings.size(); ++p) {
    const PhaseToVerify phase{&plan.trainings[p], plan.workspaces[p]};
    if (find_phase_fault(phase, plan.set.phases[p], plan.set)) return true;
  }
  return false;
}

class MutationRun {
 public:
  // Alters the plan `count` times, each time anew, all mutations in turn.
  void run(const PlanSpec& spec, int count) {
    const RealPlan right = make_real_plan(spec);
    ASSERT_EQ(fault_of(right.trainings, right.workspaces, right.set), std::nullopt) << describe(spec);
    const auto wanted = run_iteration(right);
    ASSERT_TRUE(wanted.has_value()) << describe(spec);
    Dice dice(spec.seed + 1000);
    for (int done = 0; done < count;) {
      const std::size_t m = next_++ % mutations().size();
      RealPlan mutant = right;
      if (!mutations()[m].apply(mutant, dice)) continue;
      // Sometimes a second one: it may free the way for the first, or undo it.
      const std::size_t second = dice.hits(0.1) ? dice.index(mutations().size()) : m;
      if (second != m) mutations()[second].apply(mutant, dice);
      ++done;
      judge({m, second, run_iteration(mutant) != wanted}, mutant, spec);
    }
  }

  void print() const {
    std::cout << std::left << std::setw(22) << "mutation" << std::right << std::setw(9) << "altered" << std::setw(9)
              << "changed" << std::setw(9) << "refused" << std::setw(19) << "harmless refused\n";
    Count sum;
    for (std::size_t m = 0; m < mutations().size(); ++m) {
      print_line(mutations()[m].name, counts_[m]);
      sum.altered += counts_[m].altered;
      sum.changed += counts_[m].changed;
      sum.changed_refused += counts_[m].changed_refused;
      sum.harmless_refused += counts_[m].harmless_refused;
    }
    print_line("all", sum);
  }

  int altered_count() const {
    int sum = 0;
    for (const Count& count : counts_) sum += count.altered;
    return sum;
  }
  const Count& count(std::size_t mutation) const { return counts_[mutation]; }

 private:
  struct Altered {
    std::size_t first = 0;
    std::size_t second = 0;  // the same if there was no second one
    bool is_changed = false;

    bool moves_persistents() const {
      return mutations()[first].name.starts_with("persistent") || mutations()[second].name.starts_with("persistent");
    }
    std::string text(const PlanSpec& spec) const {
      return join_text(mutations()[first].name, first == second ? "" : " and ",
                       first == second ? "" : mutations()[second].name, " in (", describe(spec), ")");
    }
  };

  void judge(const Altered& altered, const RealPlan& mutant, const PlanSpec& spec) {
    const bool is_changed = altered.is_changed;
    const std::optional<std::string> fault = fault_of(mutant.trainings, mutant.workspaces, mutant.set);
    Count& count = counts_[altered.first];
    ++count.altered;
    count.changed += is_changed ? 1 : 0;
    count.changed_refused += is_changed && fault ? 1 : 0;
    count.harmless_refused += !is_changed && fault ? 1 : 0;
    if (!is_changed) return;
    EXPECT_TRUE(fault.has_value()) << altered.text(spec) << " changes a result and was accepted";
    // The list of buffers is a second witness; the execution must find the fault without it. It relies on persistent
    // places that were judged before.
    if (altered.moves_persistents()) return;
    EXPECT_TRUE(is_refused_by_execution(mutant))
        << altered.text(spec) << " is only found by the list of buffers: " << fault.value_or("not at all");
  }

  static void print_line(std::string_view name, const Count& count) {
    std::cout << std::left << std::setw(22) << name << std::right << std::setw(9) << count.altered << std::setw(9)
              << count.changed << std::setw(9) << count.changed_refused << std::setw(18) << count.harmless_refused
              << "\n";
  }

  std::size_t next_ = 0;
  std::vector<Count> counts_ = std::vector<Count>(mutations().size());
};

TEST(VerifyMutations, EveryOneThatChangesAResultIsRefused) {
  MutationRun run;
  int left = kMutants;
  std::vector<PlanSpec> specs = plan_specs();
  for (std::size_t k = 0; k < specs.size(); ++k) {
    const int count = k + 1 == specs.size() ? left : mutants_of(specs[k]);
    run.run(specs[k], count);
    left -= count;
  }
  run.print();
  EXPECT_EQ(run.altered_count(), kMutants);
  // A mutation that never changes anything would test nothing. Marks of recomputation and the bytes noted beside an
  // offset are for reports, so altering them may be harmless.
  for (std::size_t m = 0; m < mutations().size(); ++m) {
    if (mutations()[m].name == "recompute flipped") continue;
    EXPECT_GE(run.count(m).changed, 10) << mutations()[m].name;
  }
}

}  // namespace
}  // namespace thimble::testing
