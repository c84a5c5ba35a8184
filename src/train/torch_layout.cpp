#include "train/torch_layout.h"

#include "base/error.h"

namespace thimble {

TorchLayout::TorchLayout(const Shape& ours) : shape_(ours) {
  switch (ours.rank()) {
    case 0:
    case 1: outputs_ = ours.count(); return;
    case 2:
      inputs_ = ours[0];
      outputs_ = ours[1];
      shape_ = {outputs_, inputs_};
      return;
    case 4:
      taps_ = ours[0] * ours[1];
      inputs_ = ours[2];
      outputs_ = ours[3];
      shape_ = {outputs_, inputs_, ours[0], ours[1]};
      return;
    default: fail_internal(join_text("weights: a tensor of shape ", to_text(ours), " has no known layout in PyTorch"));
  }
}

}  // namespace thimble
