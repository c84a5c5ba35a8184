// What the loader may ask of a data set: facts known when it is opened, and one sample at a time. A data set keeps no
// samples in memory: each read goes to the file, or draws. Knows nothing of networks, batches or augmentation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/shape.h"
#include "data/framing.h"

namespace thimble {

enum class Split : std::uint8_t { train, test };

constexpr std::string_view name_of(Split split) { return split == Split::train ? "train" : "test"; }

struct DatasetInfo {
  std::string name;
  Shape sample_shape;  // (H, W, C)
  std::vector<std::string> class_names;
  std::int64_t train_count = 0;
  std::int64_t test_count = 0;
  std::vector<float> mean;       // per channel, of pixels scaled to 0..1
  std::vector<float> deviation;  // standard deviation, likewise
  std::string contents = {};     // tells lists of files apart that the counts cannot; empty: there is no list
  bool has_masks = false;        // a class for every pixel instead of one for each sample
};

// What one masked sample is written into, and the workspace to do it in.
struct MaskedRoom {
  std::span<std::uint8_t> pixels;  // (H, W, C)
  std::span<std::uint8_t> mask;    // (H, W), classes
  std::span<std::byte> workspace;  // as read_framed() has it
};

class Dataset {
 public:
  explicit Dataset(DatasetInfo info) : info_(std::move(info)) {}
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;
  virtual ~Dataset() = default;

  const DatasetInfo& info() const { return info_; }
  std::int64_t class_count() const { return static_cast<std::int64_t>(info_.class_names.size()); }
  std::int64_t count(Split split) const { return split == Split::train ? info_.train_count : info_.test_count; }
  std::int64_t mask_bytes() const {  // of one sample
    return info_.has_masks ? info_.sample_shape[0] * info_.sample_shape[1] : 0;
  }

  // Writes the pixels (H, W, C) of one sample and returns its label, below class_count(). UserError with file, offset,
  // found and wanted where the file does not hold what it promised. May be called from several threads at once;
  // a data set of samples of one size allocates only to fail.
  virtual std::int32_t read(Split split, std::int64_t index, std::span<std::uint8_t> pixels) const;

  // The one way to read a data set with masks: the pixels of a sample and the class of each. The framing is for
  // pictures of many sizes.
  virtual void read_masked(Split split, std::int64_t index, const Framing& framing, const MaskedRoom& room) const;

  // Pictures of many sizes are brought to the sample's while they are read, through a window that the framing chooses,
  // in a workspace that the caller provides for each thread.
  virtual bool is_framed() const { return false; }
  virtual Bytes workspace_bytes() const { return 0; }
  virtual std::int32_t read_framed(Split split, std::int64_t index, const Framing& framing,
                                   std::span<std::uint8_t> pixels, std::span<std::byte> workspace) const;

  // What it holds beside workspaces once samples are read: names, and pages of code that nothing else brings in.
  virtual Bytes resident_bytes() const { return 0; }

 protected:
  void check_read(Split split, std::int64_t index, std::span<const std::uint8_t> pixels) const;  // InternalError
  void check_read_masked(Split split, std::int64_t index, const MaskedRoom& room) const;         // likewise

 private:
  DatasetInfo info_;
};

}  // namespace thimble
