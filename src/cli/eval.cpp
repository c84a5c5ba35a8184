#include "cli/request.h"
#include "cli/verbs.h"
#include "ops/table.h"
#include "report/json_writer.h"
#include "run/meter.h"

namespace thimble::cli {

ExitCode run_eval(const Arguments& arguments) {
  const auto dataset = open_data(arguments);
  require(dataset != nullptr, "eval: found no --data, wanted a data set's name or folder; 'thimble data' lists them");
  require(arguments.has("weights"), "eval: found no --weights, wanted a safetensors file or a checkpoint's folder");
  EvaluateOptions options{make_request(arguments, dataset.get()), arguments.text("weights", "")};
  const EvaluationFacts facts = evaluate_weights(options, *dataset, op_table(), cpu_kernels());
  if (!arguments.flag("json")) {
    std::printf("%s, %s, %lld test samples: loss %.4f, accuracy %.2f %%%s\n", options.compile.model.name.c_str(),
                dataset->info().name.c_str(), static_cast<long long>(dataset->count(Split::test)), facts.loss,
                100 * facts.accuracy, dataset->info().has_masks ? " of places" : "");
    return ExitCode::good;
  }
  JsonWriter json(stdout);
  json.begin_object();
  json.text("model", options.compile.model.name);
  json.text("data", dataset->info().name);
  json.text("labels", name_of(labels_of(options.compile.model.name)));
  json.text("weights", options.weights);
  json.integer("samples", dataset->count(Split::test));
  json.number("loss", facts.loss);
  json.number("accuracy", facts.accuracy);
  json.integer("peak_rss_bytes", peak_resident_bytes());
  json.end_object();
  return ExitCode::good;
}

}  // namespace thimble::cli
