#include "grad/optimizer.h"

#include "base/error.h"

namespace thimble {

std::string_view name_of(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::sgd: return "sgd";
    case OptimizerKind::momentum: return "momentum";
    case OptimizerKind::nesterov: return "nesterov";
    case OptimizerKind::adamw: return "adamw";
  }
  return "?";
}

OptimizerKind optimizer_from_name(std::string_view name) {
  for (const OptimizerKind kind :
       {OptimizerKind::sgd, OptimizerKind::momentum, OptimizerKind::nesterov, OptimizerKind::adamw}) {
    if (name_of(kind) == name) return kind;
  }
  fail_user(join_text("optimizer: found '", name, "', wanted sgd, momentum, nesterov or adamw"));
}

std::vector<std::string> state_names(OptimizerKind kind, std::string_view parameter) {
  const std::string name(parameter);
  switch (kind) {
    case OptimizerKind::sgd: return {};
    case OptimizerKind::momentum:
    case OptimizerKind::nesterov: return {"momentum/" + name};
    case OptimizerKind::adamw: return {"first_moment/" + name, "second_moment/" + name};
  }
  return {};
}

}  // namespace thimble
