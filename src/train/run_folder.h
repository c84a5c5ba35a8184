// The folder a run writes to: run.json, metrics.jsonl and checkpoints.
#pragma once

#include <string>

#include "train/checkpoint.h"
#include "train/metrics_log.h"

namespace thimble {

class RunFolder {
 public:
  // Keeps other runs out, cuts the log back to `start` and writes run.json.
  RunFolder(const std::string& path, const TrainerState& start);

  MetricsLog& log() { return log_; }
  // Returns the checkpoint's folder. All but the newest `keep` go.
  std::string save(const TrainerState& trainer, const StateView& state, int keep);

 private:
  std::string path_;
  CheckpointStore store_;  // first: it makes and locks the folder
  MetricsLog log_;
};

}  // namespace thimble
