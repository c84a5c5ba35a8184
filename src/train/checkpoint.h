// Checkpoints of a training run. model.safetensors: the network for people and other programs. state.safetensors: every
// byte that decides how the run goes on, in our layout. trainer_state.json: what the run was asked to do and how far it
// is.
#pragma once

#include <functional>
#include <string>

#include "data/loader.h"
#include "formats/checkpoint_store.h"
#include "train/run_record.h"
#include "train/state_view.h"

namespace thimble {

inline constexpr std::string_view kModelFile = "model.safetensors";
inline constexpr std::string_view kStateFile = "state.safetensors";
inline constexpr std::string_view kTrainerFile = "trainer_state.json";

struct TrainerState {
  RunRecord run;
  std::int64_t iteration = 0;  // done
  LoaderPosition position;     // of the next batch; follows from the iteration, kept for people to read
  double sparse_threshold = 0;
  double train_loss = 0;
};

void save_checkpoint(CheckpointStore& store, const TrainerState& trainer, const StateView& state);

TrainerState read_trainer_state(const Checkpoint& checkpoint);
// UserError, before anything is changed, if the file does not hold just this program's state.
void load_state(const Checkpoint& checkpoint, const StateView& state);

// The newest complete checkpoint of a run's folder, every byte of it checked; what was passed over is told.
std::optional<Checkpoint> find_checkpoint(const std::string& folder,
                                          const std::function<void(const std::string&)>& tell);

// UserError if `asked` is another run than the one saved; what else differs, and ends bit-equality, is told.
void check_resume(const Checkpoint& checkpoint, const RunRecord& saved, const RunRecord& asked,
                  const std::function<void(const std::string&)>& tell);

}  // namespace thimble
