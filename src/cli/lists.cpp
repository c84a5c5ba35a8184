// The verbs that list what there is.
#include "cli/verbs.h"
#include "models/model.h"
#include "ops/table.h"
#include "report/json_writer.h"
#include "report/table.h"

namespace thimble::cli {
namespace {

std::string attributes_text(const OpDef& op) {
  std::string text;
  for (const AttributeDef& attribute : op.attributes) {
    text += join_text(text.empty() ? "" : ", ", attribute.name);
    if (!attribute.fallback.empty()) text += join_text("=", attribute.fallback);
  }
  return text;
}

std::string gradients_text(const OpDef& op) {
  std::string text;
  for (const GradientRule& rule : op.gradients) text += join_text(text.empty() ? "" : ", ", rule.name);
  return text;
}

std::string in_place_text(const OpDef& op) {
  std::string text;
  for (const InPlacePair& pair : op.in_place) {
    text += join_text(text.empty() ? "" : ", ", "output ", pair.output, " over input ", pair.input);
  }
  return text;
}

void write_op(JsonWriter& json, const OpDef& op) {
  json.begin_object();
  json.text("name", op.name);
  json.text("formula", op.formula);
  json.begin_array("attributes");
  for (const AttributeDef& attribute : op.attributes) {
    json.begin_object();
    json.text("name", attribute.name);
    json.text("kind", attribute.kind == AttributeKind::integer  ? "integer"
                      : attribute.kind == AttributeKind::number ? "number"
                                                                : "word");
    if (!attribute.fallback.empty()) json.text("default", attribute.fallback);
    json.end_object();
  }
  json.end_array();
  json.begin_array("gradients");
  for (const GradientRule& rule : op.gradients) json.text({}, rule.name);
  json.end_array();
  json.begin_array("in_place");
  for (const InPlacePair& pair : op.in_place) {
    json.begin_object();
    json.integer("output", pair.output);
    json.integer("input", pair.input);
    json.end_object();
  }
  json.end_array();
  json.boolean("view", op.is_view);
  json.boolean("update", op.is_update);
  json.boolean("batch_coupled", op.batch_coupled);
  json.boolean("random", op.is_random);
  json.end_object();
}

void print_op(const OpDef& op) {
  std::printf("%s\n  %s\n", std::string(op.name).c_str(), std::string(op.formula).c_str());
  const auto line = [](const char* name, const std::string& text) {
    if (!text.empty()) std::printf("  %s: %s\n", name, text.c_str());
  };
  line("attributes", attributes_text(op));
  line("gradient rules", op.gradients.empty() ? "none" : gradients_text(op));
  line("in place", in_place_text(op));
  if (op.is_view) std::printf("  a view: takes no memory\n");
  if (op.batch_coupled) std::printf("  batch coupled: microbatches change its result\n");
  if (op.is_random) std::printf("  random: keyed by seed, iteration and sample\n");
}

}  // namespace

ExitCode run_ops(const Arguments& arguments) {
  if (arguments.flag("json")) {
    JsonWriter json(stdout);
    json.begin_array();
    for (const OpDef* op : op_table()) write_op(json, *op);
    json.end_array();
    return ExitCode::good;
  }
  for (const OpDef* op : op_table()) print_op(*op);
  return ExitCode::good;
}

ExitCode run_models(const Arguments& arguments) {
  JsonWriter json(stdout);
  Table table;
  table.add({"name", "example", "what it is"});
  const bool writes_json = arguments.flag("json");
  if (writes_json) json.begin_array();
  for (const ModelInfo& info : known_models()) {
    if (writes_json) {
      json.begin_object();
      json.text("name", info.name);
      json.text("example", info.example);
      json.text("summary", info.summary);
      json.end_object();
    } else {
      table.add({std::string(info.name), std::string(info.example), std::string(info.summary)});
    }
  }
  if (writes_json) {
    json.end_array();
  } else {
    table.print(stdout, 0);
  }
  return ExitCode::good;
}

}  // namespace thimble::cli
