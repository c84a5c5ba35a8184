// The forward pass in blocks, and schedules from trees of segments of them.
#pragma once

#include <functional>
#include <vector>

#include "schedule/schedule.h"

namespace thimble {

// Where the forward pass can be cut: at a *separator*, a value that is alone alive among the large ones when it has
// just been made. Block j ends with separator j; the last block follows the last separator.
class ForwardPass {
 public:
  struct EvenCuts {
    std::size_t stride = 0;
    std::vector<ValueId> cuts;  // every so-many-th separator
  };

  ForwardPass(const Scheduler& scheduler, const std::vector<ValueId>& large);

  const std::vector<ValueId>& separators() const { return separators_; }
  std::int32_t block_count() const { return static_cast<std::int32_t>(separators_.size()) + 1; }
  std::int32_t block_of(ValueId value) const { return block_[static_cast<std::size_t>(value.index)]; }
  bool is_separator(ValueId value) const;
  // For strides from one to eight, as far as there are separators for them.
  std::vector<EvenCuts> even_cuts() const;

  // The steps of backward by the block whose values they read; one that reads none goes with the step before it.
  std::vector<std::vector<NodeId>> backward_by_block() const;

 private:
  const Scheduler& scheduler_;
  std::vector<ValueId> separators_;
  std::vector<std::int32_t> block_;  // by value; -1: not a large one
};

// A segment of blocks, both ends included, and what may be held while backward goes through it.
struct Segment {
  std::int32_t first = 0, last = 0;
  Bytes room = 0;
};

// How backward goes through a segment, from its last block to its first, starting from the separator before it.
struct Cut {
  enum class Kind : std::uint8_t {
    whole,  // everything is made again once and held
    split,  // up to block `at`, whose separator is held through the second part; then the first part in its own way
    peel,   // the last block alone, with nothing held; then the rest
  };
  Kind kind = Kind::whole;
  std::int32_t at = 0;
};
using Split = std::function<Cut(const Segment&)>;

struct SegmentOptions {
  Bytes room = 0;  // of the whole pass
  // True: what serves only its own block is made again for every step that reads it, and not held between them.
  bool is_lean = false;
};

Holding hold_by_segments(const Scheduler& scheduler, const std::vector<ValueId>& large, const ForwardPass& pass,
                         const SegmentOptions& options, const Split& split);

}  // namespace thimble
