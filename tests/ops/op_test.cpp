// Every op is tested by existing: what it states about itself (types, gradients, in-place pairs, views) is checked on
// its examples.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "support/gradient_check.h"
#include "support/op_cases.h"

namespace thimble::testing {
namespace {

class OpTest : public ::testing::TestWithParam<const OpDef*> {
 protected:
  const OpDef& op() const { return *GetParam(); }
  std::vector<OpCase> cases() const { return cases_of(op()); }
  // The examples as they are, and with bf16 where the op takes it.
  std::vector<OpCase> cases_of_all_dtypes() const {
    std::vector<OpCase> all = cases();
    for (const OpCase& c : cases()) {
      all.push_back(in_f64(c));
      if (const auto narrow = in_bf16(c)) all.push_back(*narrow);
    }
    return all;
  }
};

// The ops of whom something more can be asked.
class ViewTest : public OpTest {};
class InPlaceTest : public OpTest {};
class UpdateTest : public OpTest {};
class GradientTest : public OpTest {};

auto ops_that(bool (*is_chosen)(const OpDef&)) {
  std::vector<const OpDef*> chosen;
  for (const OpDef* op : op_table()) {
    if (is_chosen(*op)) chosen.push_back(op);
  }
  return ::testing::ValuesIn(chosen);
}

std::string name_of_op(const ::testing::TestParamInfo<const OpDef*>& parameter) {
  return std::string(parameter.param->name);
}

INSTANTIATE_TEST_SUITE_P(All, OpTest, ops_that([](const OpDef&) { return true; }), name_of_op);
INSTANTIATE_TEST_SUITE_P(All, ViewTest, ops_that([](const OpDef& op) { return op.is_view; }), name_of_op);
INSTANTIATE_TEST_SUITE_P(All, InPlaceTest, ops_that([](const OpDef& op) { return !op.in_place.empty(); }), name_of_op);
INSTANTIATE_TEST_SUITE_P(All, UpdateTest, ops_that([](const OpDef& op) { return op.is_update; }), name_of_op);
INSTANTIATE_TEST_SUITE_P(All, GradientTest, ops_that([](const OpDef& op) { return !op.gradients.empty(); }),
                         name_of_op);

TEST(OpTable, IsSortedByName) {
  for (std::size_t n = 1; n < op_table().size(); ++n) EXPECT_LT(op_table()[n - 1]->name, op_table()[n]->name);
  for (const OpDef* op : op_table()) EXPECT_EQ(find_op(op_table(), op->name), op);
  EXPECT_EQ(find_op(op_table(), "no_such_op"), nullptr);
}

TEST_P(OpTest, SaysWhatItDoes) {
  EXPECT_FALSE(op().formula.empty());
  EXPECT_EQ(op().formula.find('\n'), std::string_view::npos);
  ASSERT_NE(op().infer, nullptr);
  ASSERT_NE(op().flops, nullptr);
  ASSERT_NE(op().examples, nullptr);
  EXPECT_TRUE(op().reference != nullptr || op().is_view);
  EXPECT_FALSE(op().examples().empty());
}

TEST_P(OpTest, InfersTypesOfItsExamplesAndCountsWork) {
  for (const OpCase& c : cases_of_all_dtypes()) {
    SCOPED_TRACE(describe(c));
    const std::vector<Type> out = c.out();
    EXPECT_FALSE(out.empty());
    for (const Type& type : out) EXPECT_GT(type.bytes(), 0);
    const double flops = op().flops({c.in, out, &c.attributes});
    EXPECT_TRUE(flops > 0 || (op().is_view && flops == 0)) << flops;
  }
}

TEST_P(OpTest, TakesActivationsOfEveryFloatingType) {
  for (const OpCase& c : cases()) {
    SCOPED_TRACE(describe(c));
    EXPECT_NO_THROW(in_f64(c).out());
    const bool has_activation = is_floating(c.in[0].dtype) && c.in[0].shape.rank() >= 2;
    EXPECT_TRUE(!has_activation || in_bf16(c).has_value());
  }
}

TEST_P(OpTest, RefusesInputCountsThatNoExampleHas) {
  std::set<std::size_t> known;
  for (const OpCase& c : cases()) known.insert(c.in.size());
  for (OpCase c : cases()) {
    const std::vector<Type> in = c.in;
    for (std::size_t count = 0; count <= in.size() + 3; ++count) {
      if (known.contains(count)) continue;
      c.in = in;
      c.in.resize(count, in.back());
      EXPECT_THROW(c.out(), UserError) << describe(c);
    }
  }
}

// A hostile number may be refused or harmless; it may not crash, throw anything but a UserError, or make an impossible
// type.
TEST_P(OpTest, HostileNumbersAreRefusedOrHarmless) {
  constexpr std::int64_t kIntegers[] = {
      std::numeric_limits<std::int64_t>::min(), -1, 0, 1 << 30, std::numeric_limits<std::int64_t>::max() / 2,
      std::numeric_limits<std::int64_t>::max()};
  constexpr double kNumbers[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                                 -1.0, 1e300};
  for (const OpCase& original : cases()) {
    for (const AttributeDef& def : op().attributes) {
      OpCase c = original;
      const auto try_value = [&](const AttributeValue& value) {
        c.attributes.set(def.name, value);
        try {
          for (const Type& type : c.out()) EXPECT_GE(type.bytes(), 0) << describe(c);
        } catch (const UserError& error) {
          // Zero may be a fair value that only does not go with the shapes of this example.
          const bool is_zero = value == AttributeValue{std::int64_t{0}};
          EXPECT_TRUE(is_zero || std::string(error.what()).find(def.name) != std::string::npos)
              << describe(c) << "\n  the message does not name '" << def.name << "': " << error.what();
        }
      };
      if (def.kind == AttributeKind::integer) std::for_each(std::begin(kIntegers), std::end(kIntegers), try_value);
      if (def.kind == AttributeKind::number) std::for_each(std::begin(kNumbers), std::end(kNumbers), try_value);
    }
  }
}

TEST_P(OpTest, RefusesWordsItDoesNotKnow) {
  for (OpCase c : cases()) {
    for (const AttributeDef& def : op().attributes) {
      if (def.kind != AttributeKind::word) continue;
      const std::string known = c.attributes.word(def.name);
      for (const char* word : {"", "nonsense", "i32", "-1", "1,,2", ",", "99999999999999999999"}) {
        c.attributes.set(def.name, std::string(word));
        EXPECT_THROW(c.out(), UserError) << describe(c);
      }
      c.attributes.set(def.name, known);
    }
  }
}

// Shapes of any rank may reach infer from a file: refused, or a type that can exist.
TEST_P(OpTest, ForeignShapesAreRefusedOrHarmless) {
  for (const OpCase& original : cases()) {
    for (std::size_t k = 0; k < original.in.size(); ++k) {
      for (const Shape& shape :
           {Shape{}, Shape{0}, Shape{1 << 20, 1 << 20}, Shape{2, 0, 2, 2}, Shape{1, 1, 1, 1, 1, 1}}) {
        OpCase c = original;
        c.in[k].shape = shape;
        try {
          for (const Type& type : c.out()) EXPECT_GE(type.bytes(), 0) << describe(c);
        } catch (const UserError& error) {
          EXPECT_NE(std::string(error.what()).find(op().name), std::string::npos) << error.what();
        }
      }
    }
  }
}

TEST_P(OpTest, ReferenceWritesEveryElementAndIsAFunctionOfItsInputs) {
  for (const OpCase& c : cases_of_all_dtypes()) {
    SCOPED_TRACE(describe(c));
    const std::vector<Tensor> in = usable_inputs(c, 1);
    const std::vector<Tensor> first = run_op(op(), c.attributes, in, kTestScalars, std::byte{0x3b});
    const std::vector<Tensor> second = run_op(op(), c.attributes, in, kTestScalars, std::byte{0xc4});
    for (std::size_t k = 0; k < first.size(); ++k) EXPECT_TRUE(same_bits(first[k], second[k])) << "output " << k;
    EXPECT_TRUE(is_finite(first));
  }
}

TEST_P(ViewTest, ViewsHaveTheBytesOfTheirInput) {
  for (const OpCase& c : cases_of_all_dtypes()) {
    EXPECT_EQ(c.out()[0].bytes(), c.in[0].bytes()) << describe(c);
    EXPECT_EQ(c.out()[0].dtype, c.in[0].dtype) << describe(c);
    EXPECT_EQ(c.out().size(), 1U) << describe(c);
  }
}

// Runs with the outputs of `pairs` laid over their inputs.
std::vector<Tensor> run_in_place(const OpCase& c, std::vector<Tensor> in, const std::vector<InPlacePair>& pairs) {
  const std::vector<Type> out_types = c.out();
  std::vector<Tensor> out;
  for (const Type& type : out_types) out.emplace_back(type, std::byte{0x7e});
  const std::vector<TensorView> in_views = views_of(in);
  std::vector<TensorView> out_views = views_of(out);
  for (const InPlacePair& pair : pairs) {
    out_views[static_cast<std::size_t>(pair.output)].data = in_views[static_cast<std::size_t>(pair.input)].data;
  }
  c.op->reference({c.in, out_types, &c.attributes}, {.in = in_views, .out = out_views, .scalars = &kTestScalars});
  for (const InPlacePair& pair : pairs)
    out[static_cast<std::size_t>(pair.output)].bytes = in[static_cast<std::size_t>(pair.input)].bytes;
  return out;
}

TEST_P(InPlaceTest, InPlaceEqualsOutOfPlaceBitForBit) {
  for (const OpCase& c : cases_of_all_dtypes()) {
    SCOPED_TRACE(describe(c));
    const std::vector<Tensor> in = usable_inputs(c, 2);
    const std::vector<Tensor> expected = run_op(op(), c.attributes, in, kTestScalars);
    std::vector<std::vector<InPlacePair>> choices;
    std::vector<InPlacePair> together;
    for (const InPlacePair& pair : op().in_place) {
      // This use may have no such operand.
      if (static_cast<std::size_t>(pair.output) >= expected.size()) continue;
      if (static_cast<std::size_t>(pair.input) >= in.size()) continue;
      ASSERT_EQ(to_text(expected[static_cast<std::size_t>(pair.output)].type),
                to_text(c.in[static_cast<std::size_t>(pair.input)]));
      choices.push_back({pair});
      together.push_back(pair);
    }
    if (op().is_update) choices.push_back(together);  // the pairs of an update hold all at once
    for (const std::vector<InPlacePair>& pairs : choices) {
      const std::vector<Tensor> found = run_in_place(c, in, pairs);
      for (std::size_t k = 0; k < found.size(); ++k) {
        EXPECT_TRUE(same_bits(found[k], expected[k])) << "output " << k << " over input " << pairs[0].input;
      }
    }
  }
}

TEST_P(UpdateTest, UpdatesOverwriteEveryOutputAndHaveNoGradient) {
  EXPECT_TRUE(op().gradients.empty());
  for (const OpCase& c : cases()) {
    for (std::size_t k = 0; k < c.out().size(); ++k) {
      const auto pair = std::find_if(op().in_place.begin(), op().in_place.end(),
                                     [&](const InPlacePair& p) { return static_cast<std::size_t>(p.output) == k; });
      EXPECT_NE(pair, op().in_place.end()) << "output " << k << " of " << describe(c);
    }
  }
}

TEST_P(GradientTest, GradientEqualsCentralDifferences) {
  for (const OpCase& c : cases()) {
    SCOPED_TRACE(describe(c));
    check_gradient(in_f64(c), op().gradients[0]);
  }
}

TEST_P(GradientTest, EveryFurtherRuleEqualsTheFirst) {
  for (std::size_t r = 1; r < op().gradients.size(); ++r) {
    for (const OpCase& example : cases()) {
      const OpCase c = in_f64(example);
      SCOPED_TRACE(describe(c) + " by " + std::string(op().gradients[r].name));
      const std::vector<Tensor> in = usable_inputs(c, 6);
      const Tensor weights = random_tensor(c.out()[0], {5, 6}, Signs::mixed);
      const RuleResult first = run_rule(c, op().gradients[0], in, weights, floating_inputs(c));
      const RuleResult other = run_rule(c, op().gradients[r], in, weights, floating_inputs(c));
      for (std::size_t k = 0; k < in.size(); ++k) {
        ASSERT_EQ(first.gradients[k].has_value(), other.gradients[k].has_value()) << "input " << k;
        for (std::int64_t i = 0; first.gradients[k] && i < first.gradients[k]->count(); ++i) {
          const double expected = first.gradients[k]->at(i);
          EXPECT_NEAR(other.gradients[k]->at(i), expected, 1e-12 * std::max(1.0, std::abs(expected)))
              << "input " << k << " element " << i;
        }
      }
    }
  }
}

TEST_P(GradientTest, RulesGiveWhatIsWantedAndNoMore) {
  for (const GradientRule& rule : op().gradients) {
    for (const OpCase& example : cases()) {
      const OpCase c = in_f64(example);
      SCOPED_TRACE(describe(c) + " by " + std::string(rule.name));
      const std::vector<Tensor> in = usable_inputs(c, 7);
      const Tensor weights = random_tensor(c.out()[0], {7, 8}, Signs::mixed);
      const RuleResult all = run_rule(c, rule, in, weights, floating_inputs(c));
      for (std::size_t k = 0; k < in.size(); ++k) {
        if (!is_floating(c.in[k].dtype)) continue;
        std::vector<bool> only(in.size(), false);
        only[k] = true;
        const RuleResult one = run_rule(c, rule, in, weights, only);
        ASSERT_TRUE(one.gradients[k] && all.gradients[k]) << "input " << k;
        EXPECT_TRUE(same_bits(*one.gradients[k], *all.gradients[k])) << "input " << k;
      }
    }
  }
}

// In mixed precision a gradient has the type of what it is the gradient of.
TEST_P(GradientTest, GradientsHaveTheTypeOfTheirInput) {
  for (const GradientRule& rule : op().gradients) {
    for (const OpCase& c : cases_of_all_dtypes()) {
      SCOPED_TRACE(describe(c) + " by " + std::string(rule.name));
      const Tensor weights = random_tensor(c.out()[0], {9, 10}, Signs::mixed);
      const RuleResult result = run_rule(c, rule, usable_inputs(c, 8), weights, floating_inputs(c));
      for (std::size_t k = 0; k < c.in.size(); ++k) {
        if (!result.gradients[k]) continue;
        EXPECT_EQ(to_text(result.gradients[k]->type), to_text(c.in[k])) << "input " << k;
      }
    }
  }
}

}  // namespace
}  // namespace thimble::testing
