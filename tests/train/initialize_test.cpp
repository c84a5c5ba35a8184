#include "train/initialize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "train/state_fixture.h"
#include "train/torch_layout.h"

namespace thimble::testing {
namespace {

const TensorSpec kConv = {.name = "conv.weight",
                          .type = {DType::f32, {3, 3, 16, 32}},
                          .init = Init::normal,
                          .scale = 0.5,
                          .sparse_candidate = true};

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

TEST(Initialize, FollowsTheSpecs) {
  StateFixture fixture({kConv,
                        {.name = "gamma", .type = {DType::f32, {5}}, .init = Init::ones},
                        {.name = "beta", .type = {DType::f32, {5}}},
                        {.name = "fc", .type = {DType::f32, {40, 100}}, .init = Init::uniform, .scale = 0.25}});
  initialize(fixture.state(), {.seed = 1});
  const std::vector<double> conv = fixture.values("conv.weight");
  double squares = 0;
  for (const double value : conv) squares += value * value;
  EXPECT_NEAR(mean_of(conv), 0, 0.03);
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(conv.size())), 0.5, 0.03);
  EXPECT_EQ(fixture.values("gamma"), std::vector<double>(5, 1.0));
  EXPECT_EQ(fixture.values("beta"), std::vector<double>(5, 0.0));
  for (const double value : fixture.values("fc")) EXPECT_LE(std::abs(value), 0.25);
  EXPECT_NEAR(mean_of(fixture.values("fc")), 0, 0.02);
}

TEST(Initialize, ElementsAreCountedInPyTorchsOrder) {
  StateFixture fixture({kConv});
  initialize(fixture.state(), {.seed = 1, .threads = 2});
  const RandomKey key = random_key(1, RandomPurpose::init, hash_text(kConv.name.data(), kConv.name.size()));
  const std::int64_t ours = ((1 * 3 + 2) * 16 + 7) * 32 + 9, theirs = ((9 * 16 + 7) * 3 + 1) * 3 + 2;
  EXPECT_EQ(fixture.values("conv.weight")[static_cast<std::size_t>(ours)],
            0.5 * static_cast<double>(random_normal(key, static_cast<std::uint64_t>(theirs))));
}

TEST(Initialize, SeedsAndNamesGiveDifferentNumbers) {
  TensorSpec other = kConv;
  other.name = "other.weight";
  StateFixture first({kConv, other}), second({kConv, other});
  initialize(first.state(), {.seed = 1});
  initialize(second.state(), {.seed = 2});
  EXPECT_NE(first.values("conv.weight"), first.values("other.weight"));
  EXPECT_NE(first.values("conv.weight"), second.values("conv.weight"));
}

TEST(Initialize, Bf16IsTheF32ValueRounded) {
  TensorSpec low = kConv;
  low.type.dtype = DType::bf16;
  StateFixture full({kConv}), rounded({low});
  initialize(full.state(), {.seed = 1});
  initialize(rounded.state(), {.seed = 1});
  for (std::size_t i = 0; i < 100; ++i) {
    const auto value = static_cast<float>(full.values("conv.weight")[i]);
    ASSERT_EQ(rounded.values("conv.weight")[i], static_cast<double>(to_float(to_bfloat16(value))));
  }
}

TEST(Initialize, SparseTensorsTakeTheDenseValuesAtRandomPositions) {
  TensorSpec second = kConv;
  second.name = "second.weight";
  StateFixture sparse({kConv, second}, 0.9, {"momentum"}), dense({kConv, second});
  initialize(sparse.state(), {.seed = 1, .sparsity = 0.9});
  initialize(dense.state(), {.seed = 1});
  EXPECT_EQ(inconsistency(sparse.pools()), "");
  EXPECT_NE(sparse.positions(0), sparse.positions(1));
  const std::vector<double> wanted = dense.values("conv.weight"), found = sparse.dense_values(0);
  const std::vector<bool> active = sparse.positions(0);
  std::int64_t count = 0, first_half = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(found[i], active[i] ? wanted[i] : 0.0);
    count += active[i] ? 1 : 0;
    first_half += active[i] && i < wanted.size() / 2 ? 1 : 0;
  }
  EXPECT_EQ(count, 460) << "floor(0.1 * 4608 + 0.1)";
  EXPECT_NEAR(static_cast<double>(first_half), 230, 40);
  for (const float value : sparse.pool("momentum")) ASSERT_EQ(value, 0.0F);
}

TEST(SparsePools, InconsistenciesAreNamed) {
  StateFixture fixture({kConv}, 0.9);
  initialize(fixture.state(), {.seed = 1, .sparsity = 0.9});
  const SparsePools pools = fixture.pools();
  pools.slots[0].mask[0] = static_cast<std::uint8_t>(pools.slots[0].mask[0] ^ 1);
  EXPECT_NE(inconsistency(pools).find("the table wants 460"), std::string::npos);
  pools.table[1] = 3;
  EXPECT_NE(inconsistency(pools).find("wanted 0 to 460"), std::string::npos);
}

}  // namespace
}  // namespace thimble::testing
