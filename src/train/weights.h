// A network's tensors in safetensors files under PyTorch's names and layouts: dense, parameters and running statistics,
// no optimizer state. Streamed: nothing beyond one small buffer is held.
#pragma once

#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "train/state_view.h"

namespace thimble {

// For write_safetensors. A sparse tensor is written with its zeros; bf16 stays bf16. Refers to `state`, whose scratch
// it overwrites.
std::vector<TensorToStore> weights_to_store(const StateView& state);

// Takes every tensor of the network from `file`, F32 or BF16. UserError names up to ten tensors that are missing, not
// the network's, or of another shape or type, before anything is changed. PyTorch's counters num_batches_tracked are
// passed over. A sparse tensor keeps its positions and takes the file's values there.
void import_weights(const SafetensorsFile& file, const StateView& state);

}  // namespace thimble
