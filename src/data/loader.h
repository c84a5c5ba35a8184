// Hands out batches of a data set straight into the caller's memory. Which samples a batch holds, and what they look
// like, is a pure function of the options and the position: there is no order to store, nothing to run forward after a
// resume, and any part of a batch can be made by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/call.h"
#include "data/augment.h"
#include "data/dataset.h"

namespace thimble {

struct LoaderOptions {
  Split split = Split::train;
  std::int64_t batch = 1;
  std::uint64_t seed = 0;
  bool shuffle = true;  // another order each epoch; false: the order of the data set
  Augmentation augmentation = Augmentation::none;
  bool drop_last = false;  // leave out the ragged last batch of an epoch
  int threads = 1;         // changes no result
};

// The whole state of a pass through the data.
struct LoaderPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  // within the epoch
  friend bool operator==(const LoaderPosition&, const LoaderPosition&) = default;
};

class Loader {
 public:
  Loader(const Dataset& dataset, const LoaderOptions& options);  // the data set must outlive the loader

  std::int64_t batches_per_epoch() const { return batches_per_epoch_; }  // with the ragged one, unless dropped
  std::int64_t samples_in(LoaderPosition position) const;                // the batch size, or fewer in a ragged batch
  LoaderPosition position_of(std::int64_t iteration) const;              // batches counted from the first epoch's first
  LoaderPosition next(LoaderPosition position) const;
  std::int64_t sample_index(LoaderPosition position, std::int64_t place) const;  // in the data set

  // Samples first .. first + count - 1 of the batch at `position`, into the first `count` rows of `images` (n, H, W,
  // C), f32 or bf16, and `labels` (n), i32; further rows are left alone. UserError if the data set's files fail. One
  // call at a time.
  void fill(LoaderPosition position, std::int64_t first, std::int64_t count, const TensorView& images,
            const TensorView& labels);

  Bytes buffer_bytes() const { return static_cast<Bytes>(buffer_.size()); }

 private:
  void check(LoaderPosition position, std::int64_t first, std::int64_t count, const TensorView& images,
             const TensorView& labels) const;
  void fill_row(LoaderPosition position, std::int64_t place, std::int64_t row, std::span<std::uint8_t> pixels,
                const TensorView& images, const TensorView& labels) const;

  const Dataset& dataset_;
  LoaderOptions options_;
  Normalizer normalizer_;
  std::int64_t batches_per_epoch_ = 0;
  std::vector<std::uint8_t> buffer_;  // one sample a thread
};

}  // namespace thimble
