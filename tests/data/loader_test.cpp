#include "data/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/error.h"
#include "data/cifar10.h"
#include "data/fake_files.h"
#include "data/glyphs.h"

namespace thimble {
namespace {

using namespace test;

// A batch with guard values behind its rows.
struct Batch {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  std::int64_t rows;
  Shape shape;

  explicit Batch(std::int64_t row_count, const Shape& sample = {32, 32, 3})
      : images(static_cast<std::size_t>(row_count * sample.count()), -99),
        labels(static_cast<std::size_t>(row_count), -99),
        rows(row_count),
        shape({row_count, sample[0], sample[1], sample[2]}) {}

  TensorView image_view() { return {images.data(), DType::f32, shape}; }
  TensorView label_view() { return {labels.data(), DType::i32, {rows}}; }
};

std::unique_ptr<Dataset> small_glyphs(std::int64_t train = 53) {
  return open_glyphs({.seed = 1, .train_count = train, .test_count = 20});
}

std::vector<std::int64_t> order_of(const Loader& loader, std::int64_t epoch) {
  std::vector<std::int64_t> order;
  for (std::int64_t batch = 0; batch < loader.batches_per_epoch(); ++batch) {
    for (std::int64_t place = 0; place < loader.samples_in({epoch, batch}); ++place) {
      order.push_back(loader.sample_index({epoch, batch}, place));
    }
  }
  return order;
}

std::vector<std::int64_t> counting_up(std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(Loader, VisitsEverySampleOnceAnEpochInAnotherOrderEachTime) {
  const auto dataset = small_glyphs();
  const Loader loader(*dataset, {.batch = 10, .seed = 7});
  const auto first = order_of(loader, 0), second = order_of(loader, 1);
  EXPECT_NE(first, second);
  for (auto order : {first, second}) {
    EXPECT_NE(order, counting_up(53));
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, counting_up(53));
  }
}

TEST(Loader, TheOrderDependsOnTheSeedAndOnNothingElse) {
  const auto dataset = small_glyphs();
  const auto order = order_of(Loader(*dataset, {.batch = 10, .seed = 7}), 2);
  EXPECT_EQ(order_of(Loader(*dataset, {.batch = 4, .seed = 7, .threads = 2}), 2), order);
  EXPECT_NE(order_of(Loader(*dataset, {.batch = 10, .seed = 8}), 2), order);
}

TEST(Loader, KeepsTheOrderOfTheDataSetUnlessShuffled) {
  const auto dataset = small_glyphs();
  EXPECT_EQ(order_of(Loader(*dataset, {.batch = 10, .shuffle = false}), 3), counting_up(53));
}

TEST(Loader, CountsTheRaggedBatchUnlessItIsDropped) {
  const auto dataset = small_glyphs();
  const Loader keeping(*dataset, {.batch = 10});
  EXPECT_EQ(keeping.batches_per_epoch(), 6);
  EXPECT_EQ(keeping.samples_in({0, 4}), 10);
  EXPECT_EQ(keeping.samples_in({0, 5}), 3);
  const Loader dropping(*dataset, {.batch = 10, .drop_last = true});
  EXPECT_EQ(dropping.batches_per_epoch(), 5);
  EXPECT_EQ(dropping.samples_in({0, 4}), 10);
}

TEST(Loader, AnEpochThatDividesEvenlyHasNoRaggedBatch) {
  const auto dataset = small_glyphs(50);
  const Loader loader(*dataset, {.batch = 10});
  EXPECT_EQ(loader.batches_per_epoch(), 5);
  EXPECT_EQ(loader.samples_in({0, 4}), 10);
}

TEST(Loader, StepsThroughPositionsAsIterationsCount) {
  const auto dataset = small_glyphs();
  const Loader loader(*dataset, {.batch = 10});
  LoaderPosition position;
  for (std::int64_t iteration = 0; iteration < 20; ++iteration) {
    EXPECT_EQ(loader.position_of(iteration), position) << iteration;
    position = loader.next(position);
  }
  EXPECT_EQ(loader.position_of(13), (LoaderPosition{.epoch = 2, .batch = 1}));
}

TEST(Loader, GivesTheSameBatchWhenMadeAgainAtThatPosition) {
  const auto dataset = small_glyphs();
  const LoaderOptions options = {.batch = 10, .seed = 3, .augmentation = Augmentation::crop_flip};
  Batch straight(10), resumed(10);
  Loader running(*dataset, options);
  LoaderPosition position;
  for (int iteration = 0; iteration <= 9; ++iteration, position = running.next(position)) {
    running.fill(position, 0, running.samples_in(position), straight.image_view(), straight.label_view());
  }
  Loader again(*dataset, options);
  again.fill(again.position_of(9), 0, 10, resumed.image_view(), resumed.label_view());
  EXPECT_EQ(straight.images, resumed.images);
  EXPECT_EQ(straight.labels, resumed.labels);
}

TEST(Loader, PartsOfABatchAreTheBatch) {
  const auto dataset = small_glyphs();
  Loader loader(*dataset, {.batch = 10, .seed = 3, .augmentation = Augmentation::crop_flip});
  Batch whole(10), part(4);
  loader.fill({1, 2}, 0, 10, whole.image_view(), whole.label_view());
  for (const auto& [first, count] : {std::pair{0, 4}, std::pair{4, 4}, std::pair{8, 2}}) {
    loader.fill({1, 2}, first, count, part.image_view(), part.label_view());
    EXPECT_TRUE(
        std::equal(part.images.begin(), part.images.begin() + count * 3072, whole.images.begin() + first * 3072));
    EXPECT_TRUE(std::equal(part.labels.begin(), part.labels.begin() + count, whole.labels.begin() + first));
  }
}

TEST(Loader, ThreadsChangeNothing) {
  const auto dataset = small_glyphs();
  const auto batch_with = [&](int threads) {
    Loader loader(*dataset, {.batch = 11, .augmentation = Augmentation::crop_flip, .threads = threads});
    Batch batch(11);
    loader.fill({0, 1}, 0, 11, batch.image_view(), batch.label_view());
    return batch;
  };
  const Batch one = batch_with(1);
  for (const int threads : {2, 3, 16}) {
    const Batch many = batch_with(threads);
    EXPECT_EQ(many.images, one.images) << threads;
    EXPECT_EQ(many.labels, one.labels) << threads;
  }
}

TEST(Loader, WritesTheRaggedBatchAndLeavesFurtherRowsAlone) {
  const auto dataset = small_glyphs();
  Loader loader(*dataset, {.batch = 10});
  Batch batch(10);
  loader.fill({0, 5}, 0, 3, batch.image_view(), batch.label_view());
  EXPECT_TRUE(std::all_of(batch.labels.begin(), batch.labels.begin() + 3, [](int label) { return label >= 0; }));
  EXPECT_TRUE(std::all_of(batch.labels.begin() + 3, batch.labels.end(), [](int label) { return label == -99; }));
  EXPECT_TRUE(std::none_of(batch.images.begin(), batch.images.begin() + 3 * 3072, [](float x) { return x == -99; }));
  EXPECT_TRUE(std::all_of(batch.images.begin() + 3 * 3072, batch.images.end(), [](float x) { return x == -99; }));
}

TEST(Loader, RowsHoldTheSamplesOfTheirIndices) {
  const auto dataset = small_glyphs();
  Loader loader(*dataset, {.batch = 10, .seed = 5});
  Batch batch(10);
  loader.fill({4, 3}, 0, 10, batch.image_view(), batch.label_view());
  std::array<std::uint8_t, 3072> pixels;
  const DatasetInfo& info = dataset->info();
  for (std::int64_t row = 0; row < 10; ++row) {
    const auto label = dataset->read(Split::train, loader.sample_index({4, 3}, row), pixels);
    EXPECT_EQ(batch.labels[static_cast<std::size_t>(row)], label);
    for (std::size_t i = 0; i < 3072; ++i) {
      const float wanted = (static_cast<float>(pixels[i]) / 255 - info.mean[i % 3]) / info.deviation[i % 3];
      ASSERT_NEAR(batch.images[static_cast<std::size_t>(row) * 3072 + i], wanted, 1e-5);
    }
  }
}

TEST(Loader, AugmentationFollowsTheSampleNotItsPlace) {
  const auto dataset = small_glyphs();
  Loader tens(*dataset, {.batch = 10, .seed = 5, .augmentation = Augmentation::crop_flip});
  Loader sevens(*dataset, {.batch = 7, .seed = 5, .augmentation = Augmentation::crop_flip});
  Batch a(1), b(1);
  tens.fill({1, 1}, 6, 1, a.image_view(), a.label_view());    // place 16 of the epoch
  sevens.fill({1, 2}, 2, 1, b.image_view(), b.label_view());  // the same
  EXPECT_EQ(a.images, b.images);
  tens.fill({2, 1}, 6, 1, b.image_view(), b.label_view());
  EXPECT_NE(a.images, b.images);
}

TEST(Loader, Bf16IsTheRoundedF32) {
  const auto dataset = small_glyphs();
  Loader loader(*dataset, {.batch = 5, .augmentation = Augmentation::crop_flip});
  Batch wide(5);
  std::vector<BFloat16> narrow(wide.images.size());
  std::vector<std::int32_t> labels(5);
  loader.fill({0, 0}, 0, 5, wide.image_view(), wide.label_view());
  loader.fill({0, 0}, 0, 5, {narrow.data(), DType::bf16, wide.shape}, {labels.data(), DType::i32, {5}});
  EXPECT_EQ(labels, wide.labels);
  for (std::size_t i = 0; i < narrow.size(); ++i) ASSERT_EQ(narrow[i].bits, to_bfloat16(wide.images[i]).bits);
}

TEST(Loader, ReportsTheFirstBadSampleWhateverTheThreads) {
  const TemporaryFolder folder;
  write_fake_cifar(folder);
  ByteList test = cifar_records(100, 4);
  test[2 * 3073] = 77;
  test[3 * 3073] = 88;
  folder.write("test_batch.bin", test);
  const auto dataset = open_cifar10(folder.path());
  for (const int threads : {1, 2, 4}) {
    Loader loader(*dataset, {.split = Split::test, .batch = 4, .shuffle = false, .threads = threads});
    Batch batch(4);
    expect_user_error([&] { loader.fill({}, 0, 4, batch.image_view(), batch.label_view()); },
                      {"test_batch.bin", "offset 6146", "label 77"});
  }
}

TEST(Loader, RefusesWhatCannotBe) {
  const auto dataset = small_glyphs();
  expect_user_error([&] { Loader(*dataset, {.batch = 0}); }, {"found batch 0", "at least 1"});
  expect_user_error([&] { Loader(*dataset, {.batch = 54, .drop_last = true}); },
                    {"found batch 54", "53 train samples"});
  EXPECT_EQ(Loader(*dataset, {.batch = 54}).batches_per_epoch(), 1);
}

TEST(Loader, RefusesResizedCropsOfSamplesOfOneSize) {
  const auto dataset = small_glyphs();
  expect_user_error([&] { Loader(*dataset, {.batch = 1, .augmentation = Augmentation::resized_crop}); },
                    {"glyphs", "resized-crop", "wanted none or crop-flip"});
}

TEST(Loader, AViewOfTheWrongShapeOrTypeIsOurOwnError) {
  const auto dataset = small_glyphs();
  Loader loader(*dataset, {.batch = 10});
  Batch batch(4);
  EXPECT_THROW(loader.fill({}, 0, 5, batch.image_view(), batch.label_view()), InternalError);
  EXPECT_THROW(loader.fill({}, 8, 3, batch.image_view(), batch.label_view()), InternalError);
  EXPECT_THROW(loader.fill({0, 6}, 0, 1, batch.image_view(), batch.label_view()), InternalError);
  EXPECT_THROW(loader.fill({}, 0, 1, {batch.images.data(), DType::u8, batch.shape}, batch.label_view()), InternalError);
  EXPECT_THROW(loader.fill({}, 0, 1, {batch.images.data(), DType::f32, {4, 3072}}, batch.label_view()), InternalError);
  EXPECT_THROW(loader.fill({}, 0, 1, batch.image_view(), {batch.labels.data(), DType::f32, {4}}), InternalError);
}

TEST(Loader, HoldsOneSampleAThread) {
  const auto dataset = small_glyphs();
  EXPECT_EQ(Loader(*dataset, {.batch = 10'000, .threads = 2}).buffer_bytes(), 2 * 3072);
}

}  // namespace
}  // namespace thimble
