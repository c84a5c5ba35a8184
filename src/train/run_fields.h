// Every field of a RunRecord, once: its name in JSON, what it means for a resume, and where it lives. Writing, reading
// and comparing all walk this list.
#pragma once

#include "train/run_record.h"

namespace thimble {

enum class Weight : std::uint8_t { forbidden, noted, free };

template <typename Record, typename Visit>
void for_each_field(Record& r, Visit&& visit) {
  auto& options = r.options;
  auto& request = options.compile;
  visit("model", Weight::forbidden, request.model.name);
  visit("sample", Weight::forbidden, request.model.sample);
  visit("classes", Weight::forbidden, request.model.classes);
  visit("dropout", Weight::forbidden, request.model.dropout);
  visit("label_smoothing", Weight::forbidden, request.model.label_smoothing);
  visit("data", Weight::forbidden, r.data);
  visit("train_samples", Weight::forbidden, request.train_samples);
  visit("test_samples", Weight::noted, request.test_samples);
  visit("augmentation", Weight::forbidden, options.augmentation);
  visit("seed", Weight::forbidden, options.seed);
  visit("batch", Weight::forbidden, request.batch);
  visit("microbatch", Weight::noted, r.microbatch);
  visit("precision", Weight::forbidden, request.precision);
  visit("master", Weight::forbidden, request.master);
  visit("optimizer", Weight::forbidden, request.optimizer.kind);
  visit("momentum", Weight::noted, request.optimizer.momentum);
  visit("beta1", Weight::noted, request.optimizer.beta1);
  visit("beta2", Weight::noted, request.optimizer.beta2);
  visit("epsilon", Weight::noted, request.optimizer.epsilon);
  visit("weight_decay", Weight::noted, request.optimizer.weight_decay);
  visit("decay_vectors", Weight::noted, request.optimizer.decay_vectors);
  visit("clip_norm", Weight::noted, request.optimizer.clip_norm);
  visit("sparsity", Weight::forbidden, request.sparsity);
  visit("sparse_method", Weight::forbidden, options.sparse.method);
  visit("sparse_threshold", Weight::noted, options.sparse.threshold);
  visit("sparse_prune_target", Weight::noted, options.sparse.prune_target);
  visit("sparse_tolerance", Weight::noted, options.sparse.tolerance);
  visit("sparse_period", Weight::noted, options.sparse.period);
  visit("iterations", Weight::noted, options.iterations);
  visit("learning_rate", Weight::noted, options.learning_rate.kind);
  visit("peak", Weight::noted, options.learning_rate.peak);
  visit("warm_up", Weight::noted, options.learning_rate.warm_up);
  visit("milestones", Weight::noted, options.learning_rate.milestones);
  visit("factor", Weight::noted, options.learning_rate.factor);
  visit("rise", Weight::noted, options.learning_rate.rise);
  visit("start_divisor", Weight::noted, options.learning_rate.start_divisor);
  visit("end_divisor", Weight::noted, options.learning_rate.end_divisor);
  visit("isa", Weight::noted, request.target.isa);
  visit("threads", Weight::noted, request.target.threads);
  visit("build", Weight::noted, r.build);
  visit("allowed", Weight::free, request.allowed);
  visit("memory", Weight::free, request.memory);
  visit("recompute", Weight::free, request.recompute);
  visit("cost", Weight::free, request.cost);
  visit("evaluate_every", Weight::free, options.evaluate_every);
  visit("save_every", Weight::free, options.save_every);
}

}  // namespace thimble
