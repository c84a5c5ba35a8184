#include "train/checkpoint.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "train/sparse_pools.h"
#include "train/weights.h"

namespace thimble {
namespace {

std::vector<TensorToStore> state_to_store(const StateView& state) {
  std::vector<TensorToStore> tensors;
  for (const Program::Persistent& persistent : state.persistents) {
    if (!is_state(persistent.role)) continue;
    tensors.push_back({persistent.name, stored_type(persistent.view.dtype), persistent.view.shape,
                       [state, &persistent](Bytes offset, std::span<std::byte> out) {
                         // Pieces come front to back, so what was fetched for the first is there for the others.
                         const TensorView view = offset == 0 ? fetch(state, persistent) : room_for(state, persistent);
                         std::memcpy(out.data(), bytes_of(view).data() + offset, out.size());
                       }});
  }
  return tensors;
}

std::string to_json(const TrainerState& trainer) {
  JsonObject object;
  object.integer("iteration", trainer.iteration)
      .integer("epoch", trainer.position.epoch)
      .integer("batch_in_epoch", trainer.position.batch)
      .number("next_sparse_threshold", trainer.sparse_threshold)
      .number("train_loss", trainer.train_loss);
  write_record(trainer.run, object);
  return object.to_string() + "\n";
}

// What the file lacks or has in another form; empty if it is this program's state.
std::string mismatch(const SafetensorsFile& file, Persistents persistents) {
  std::int64_t count = 0;
  for (const Program::Persistent& persistent : persistents) {
    if (!is_state(persistent.role)) continue;
    ++count;
    const std::optional<StoredTensor> stored = file.table().find(persistent.name);
    if (!stored) return join_text("'", persistent.name, "' is missing");
    const TensorView& view = persistent.view;
    if (stored->type != stored_type(view.dtype) || stored->shape != view.shape) {
      return join_text("'", persistent.name, "' is ", name_of(stored->type), to_text(stored->shape), ", wanted ",
                       name_of(stored_type(view.dtype)), to_text(view.shape));
    }
  }
  if (file.table().count() == count) return "";
  return join_text("it holds ", file.table().count(), " tensors, wanted ", count);
}

}  // namespace

void save_checkpoint(CheckpointStore& store, const TrainerState& trainer, const StateView& state) {
  store.save(trainer.iteration, [&](CheckpointWriter& writer) {
    const Metadata metadata = {{"format", "pt"},
                               {"model", trainer.run.options.compile.model.name},
                               {"iteration", std::to_string(trainer.iteration)}};
    writer.add(kModelFile, [&](const ByteSink& sink) { write_safetensors(sink, weights_to_store(state), metadata); });
    writer.add(kStateFile, [&](const ByteSink& sink) { write_safetensors(sink, state_to_store(state), {}); });
    writer.add_text(kTrainerFile, to_json(trainer));
  });
}

TrainerState read_trainer_state(const Checkpoint& checkpoint) {
  const File file = open_own_to_read(checkpoint.path_of(kTrainerFile));
  const FlatJson json(file_source(file));
  TrainerState trainer;
  trainer.run = read_record(json);
  trainer.iteration = json.integer("iteration");
  require(trainer.iteration == checkpoint.manifest.iteration, json.name(), ": is of iteration ", trainer.iteration,
          ", its checkpoint of ", checkpoint.manifest.iteration);
  trainer.position = {json.integer("epoch"), json.integer("batch_in_epoch")};
  trainer.sparse_threshold = json.number("next_sparse_threshold");
  trainer.train_loss = json.number("train_loss");
  return trainer;
}

void load_state(const Checkpoint& checkpoint, const StateView& state) {
  const SafetensorsFile file(open_own_to_read(checkpoint.path_of(kStateFile)));
  const std::string wrong = mismatch(file, state.persistents);
  require(wrong.empty(), file.path(), ": does not hold the state of this run: ", wrong);
  for (const Program::Persistent& persistent : state.persistents) {
    if (!is_state(persistent.role)) continue;
    const std::span<std::byte> bytes = bytes_of(room_for(state, persistent));
    const StoredTensor stored = file.get(persistent.name);
    for (Bytes offset = 0; offset < stored.bytes; offset += kChunkBytes) {
      const Bytes count = std::min(kChunkBytes, stored.bytes - offset);
      file.read(stored, offset, bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(count)));
    }
    put_back(state, persistent);
  }
  const std::string broken = inconsistency(sparse_pools(state));
  require(broken.empty(), file.path(), ": ", broken);
}

std::optional<Checkpoint> find_checkpoint(const std::string& folder,
                                          const std::function<void(const std::string&)>& tell) {
  FoundCheckpoint found = find_newest_complete(folder, Check::hashes);
  for (const SkippedCheckpoint& skipped : found.skipped) {
    tell(join_text("passed over ", skipped.path, ", which is not whole: ", skipped.reason));
  }
  return std::move(found.newest);
}

void check_resume(const Checkpoint& checkpoint, const RunRecord& saved, const RunRecord& asked,
                  const std::function<void(const std::string&)>& tell) {
  const Differences differences = compare(saved, asked);
  require(differences.forbidden.empty(), "cannot continue ", checkpoint.path, ": ", to_text(differences.forbidden),
          ". Ask for the run as it was, or start another in a new folder");
  if (differences.noted.empty()) return;
  tell(join_text("continues ", checkpoint.path,
                 " with changes, so not to the same bits as without a stop: ", to_text(differences.noted)));
}

}  // namespace thimble
