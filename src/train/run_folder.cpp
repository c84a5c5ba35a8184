#include "train/run_folder.h"

#include "base/error.h"

namespace thimble {

RunFolder::RunFolder(const std::string& path, const TrainerState& start)
    : path_(path), store_(path), log_(path, start.iteration) {
  publish_run(start.run, path);
}

std::string RunFolder::save(const TrainerState& trainer, const StateView& state, int keep) {
  log_.sync();
  save_checkpoint(store_, trainer, state);
  store_.prune(keep);
  return join_text(path_, "/", checkpoint_name(trainer.iteration));
}

}  // namespace thimble
