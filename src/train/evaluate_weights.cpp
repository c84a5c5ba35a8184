#include <filesystem>

#include "base/error.h"
#include "train/checkpoint.h"
#include "train/data_fit.h"
#include "train/initialize.h"
#include "train/session.h"
#include "train/train.h"
#include "train/weights.h"

namespace thimble {
namespace {

struct WeightsFile {
  std::string path;
  std::int64_t iteration = 0;  // of a checkpoint
};

WeightsFile model_of(const Checkpoint& checkpoint) {
  return {checkpoint.path_of(kModelFile), checkpoint.manifest.iteration};
}

// A file as it is; of a checkpoint its weights; of a run its newest checkpoint's.
WeightsFile find_weights(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return {.path = path};
  const std::string manifest = join_text(path, "/", kManifestName);
  if (std::filesystem::exists(manifest)) return model_of(open_checkpoint(path, Check::hashes));
  const FoundCheckpoint found = find_newest_complete(path, Check::hashes);
  require(found.newest.has_value(), path, ": holds no complete checkpoint");
  return model_of(*found.newest);
}

}  // namespace

EvaluationFacts evaluate_weights(const EvaluateOptions& options, const Dataset& dataset, OpTable ops,
                                 KernelTable kernels) {
  CompileRequest request = options.compile;
  fit_to_data(request.model, dataset);
  request.train_samples = 0;
  request.test_samples = dataset.count(Split::test);
  request.loading_bytes = loading_bytes(dataset, request.target.threads);
  request.sparsity = 0;  // files hold sparse tensors with their zeros
  require(request.test_samples > 0, dataset.info().name, ": has no test samples to evaluate with");
  CompileResult result = compile_apart(request, ops, kernels);
  require(result.compiled.has_value(), "evaluation does not fit: it needs ", to_bytes_text(result.smallest_memory),
          ", the budget is ", to_bytes_text(request.memory.value_or(0)));
  Session session(*result.compiled);
  const StateView state = session.state();
  initialize(state, {.threads = request.target.threads});
  const WeightsFile weights = find_weights(options.weights);
  import_weights(SafetensorsFile(open_to_read(weights.path)), state);
  Loader loader(dataset, session.evaluation_batches(request.target.threads));
  const std::atomic<bool> never = false;
  const BatchResult sum = *session.evaluate(loader, request.test_samples, never, [](Boundary) {});
  return {.iteration = weights.iteration,
          .loss = sum.loss,
          .accuracy = sum.hits / static_cast<double>(request.test_samples)};
}

}  // namespace thimble
