#include "data/loader.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"

namespace thimble {
namespace {

// A parallel body must not throw: the failure of the earliest row is carried out of it, whichever thread met it and
// when.
class FirstFailure {
 public:
  void note(std::int64_t row) noexcept {
    const std::lock_guard lock(mutex_);
    if (failure_ == nullptr || row < row_) {
      failure_ = std::current_exception();
      row_ = row;
    }
  }
  void rethrow() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::int64_t row_ = 0;
};

}  // namespace

LoaderMemory::LoaderMemory(const Dataset& dataset, int threads)
    : threads_(threads),
      pixels_(static_cast<std::size_t>(threads * dataset.info().sample_shape.count())),
      masks_(static_cast<std::size_t>(threads * dataset.mask_bytes())),
      workspaces_(static_cast<std::size_t>(threads * dataset.workspace_bytes())) {}

Bytes loading_bytes(const Dataset& dataset, int threads) {
  const Bytes sample = dataset.info().sample_shape.count() + dataset.mask_bytes();
  return threads * (sample + dataset.workspace_bytes()) + dataset.resident_bytes();
}

Loader::Loader(const Dataset& dataset, const LoaderOptions& options, LoaderMemory* memory)
    : dataset_(dataset), options_(options), normalizer_(dataset.info()), memory_(memory) {
  const std::string& name = dataset.info().name;
  const Shape& shape = dataset.info().sample_shape;
  const std::int64_t samples = dataset.count(options.split);
  require(options.batch >= 1, name, ": found batch ", options.batch, ", wanted at least 1");
  require(!options.drop_last || options.batch <= samples, name, ": found batch ", options.batch,
          ", wanted at most the ", samples, " ", name_of(options.split), " samples, since the ragged batch is dropped");
  require(dataset.is_framed() || options.augmentation != Augmentation::resized_crop, name,
          ": found augmentation resized-crop, wanted none or crop-flip: its samples are of one size");
  require(
      dataset.is_framed() || options.augmentation == Augmentation::none || std::min(shape[0], shape[1]) > kCropPadding,
      name, ": found images of ", to_text(shape), ", wanted sides above ", kCropPadding, " for crop-flip");
  ensure(options.threads >= 1, "loader: ", options.threads, " threads");
  if (memory_ == nullptr) memory_ = &own_memory_.emplace(dataset, options.threads);
  ensure(options.threads <= memory_->threads(), "loader: ", options.threads, " threads with memory for ",
         memory_->threads());
  batches_per_epoch_ = samples / options.batch;
  if (!options.drop_last && samples % options.batch != 0) ++batches_per_epoch_;
}

std::int64_t Loader::samples_in(LoaderPosition position) const {
  return std::min(options_.batch, dataset_.count(options_.split) - position.batch * options_.batch);
}

LoaderPosition Loader::position_of(std::int64_t iteration) const {
  return {iteration / batches_per_epoch_, iteration % batches_per_epoch_};
}

LoaderPosition Loader::next(LoaderPosition position) const {
  if (position.batch + 1 < batches_per_epoch_) return {position.epoch, position.batch + 1};
  return {position.epoch + 1, 0};
}

std::int64_t Loader::sample_index(LoaderPosition position, std::int64_t place) const {
  const std::int64_t index = position.batch * options_.batch + place;
  if (!options_.shuffle) return index;
  const RandomKey key = random_key(options_.seed, RandomPurpose::shuffle, static_cast<std::uint64_t>(position.epoch));
  return static_cast<std::int64_t>(random_permuted(key, static_cast<std::uint64_t>(index),
                                                   static_cast<std::uint64_t>(dataset_.count(options_.split))));
}

void Loader::fill(LoaderPosition position, std::int64_t first, std::int64_t count, const TensorView& images,
                  const TensorView& labels) {
  check(position, first, count, images, labels);
  FirstFailure failure;
  parallel(options_.threads, [&](int thread, int thread_count) {
    const Range rows = part_of(count, thread, thread_count);
    std::int64_t row = rows.begin;
    try {
      for (; row < rows.end; ++row) fill_row(position, first + row, row, thread, images, labels);
    } catch (...) {
      failure.note(row);
    }
  });
  failure.rethrow();
}

std::int32_t Loader::read(std::int64_t epoch, std::int64_t sample, int thread) const {
  if (!dataset_.is_framed()) return dataset_.read(options_.split, sample, memory_->pixels(thread));
  return dataset_.read_framed(options_.split, sample, make_framing(options_.augmentation, options_.seed, epoch, sample),
                              memory_->pixels(thread), memory_->workspace(thread));
}

void Loader::read_masked(std::int64_t epoch, std::int64_t sample, int thread) const {
  dataset_.read_masked(options_.split, sample, make_framing(options_.augmentation, options_.seed, epoch, sample),
                       {memory_->pixels(thread), memory_->mask(thread), memory_->workspace(thread)});
}

CropFlip Loader::crop_flip_of(std::int64_t epoch, std::int64_t sample) const {
  if (options_.augmentation == Augmentation::none) return {};
  CropFlip crop_flip = draw_crop_flip(options_.seed, epoch, sample);
  if (dataset_.is_framed()) crop_flip.down = crop_flip.right = 0;  // the framing has cropped it
  return crop_flip;
}

Shape Loader::labels_of(std::int64_t samples) const {
  const Shape& sample = dataset_.info().sample_shape;
  return dataset_.info().has_masks ? Shape{samples, sample[0], sample[1]} : Shape{samples};
}

void Loader::fill_row(LoaderPosition position, std::int64_t place, std::int64_t row, int thread,
                      const TensorView& images, const TensorView& labels) const {
  const Shape& shape = dataset_.info().sample_shape;
  const std::int64_t sample = sample_index(position, place);
  const CropFlip crop_flip = crop_flip_of(position.epoch, sample);
  if (dataset_.info().has_masks) {
    read_masked(position.epoch, sample, thread);
    write_mask(memory_->mask(thread), shape, crop_flip, labels.as<std::int32_t>() + row * shape[0] * shape[1]);
  } else {
    labels.as<std::int32_t>()[row] = read(position.epoch, sample, thread);
  }
  const std::span<const std::uint8_t> pixels = memory_->pixels(thread);
  const std::int64_t offset = row * shape.count();
  if (images.dtype == DType::f32) {
    write_image(pixels, shape, crop_flip, normalizer_, images.as<float>() + offset);
  } else {
    write_image(pixels, shape, crop_flip, normalizer_, images.as<BFloat16>() + offset);
  }
}

void Loader::check(LoaderPosition position, std::int64_t first, std::int64_t count, const TensorView& images,
                   const TensorView& labels) const {
  ensure(position.epoch >= 0 && position.batch >= 0 && position.batch < batches_per_epoch_, "loader: batch ",
         position.batch, " of epoch ", position.epoch, ", wanted one of ", batches_per_epoch_);
  ensure(first >= 0 && count >= 0 && first + count <= samples_in(position), "loader: samples ", first, " to ",
         first + count, " of a batch of ", samples_in(position));
  const Shape& sample = dataset_.info().sample_shape;
  const Shape wanted = {images.shape.rank() == 4 ? images.shape[0] : count, sample[0], sample[1], sample[2]};
  ensure(images.shape == wanted && images.shape[0] >= count, "loader: given images ", to_text(images.shape),
         ", wanted ", to_text(wanted), " with ", count, " rows or more");
  ensure(images.dtype == DType::f32 || images.dtype == DType::bf16, "loader: given ", name_of(images.dtype),
         " images, wanted f32 or bf16");
  const Shape wanted_labels = labels_of(labels.shape.rank() >= 1 ? labels.shape[0] : count);
  ensure(labels.dtype == DType::i32 && labels.shape == wanted_labels && labels.shape[0] >= count,
         "loader: given labels ", name_of(labels.dtype), to_text(labels.shape), ", wanted i32", to_text(wanted_labels),
         " with ", count, " rows or more");
}

}  // namespace thimble
