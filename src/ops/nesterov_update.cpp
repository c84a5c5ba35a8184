// Nesterov's momentum: steps along the gradient and the velocity it has just made.
#include "ops/update_rules.h"

namespace thimble::ops::nesterov_update {
namespace {

constexpr AttributeDef kAttributes[] = {{"momentum", AttributeKind::number, ""},
                                        {"weight_decay", AttributeKind::number, "0"},
                                        {"rounding", AttributeKind::word, "nearest"},
                                        {"key", AttributeKind::integer, "0"}};

std::vector<Type> infer(const OpQuery& q) { return infer_update("nesterov_update", q, kNesterov); }
double flops(const OpQuery& q) { return update_flops(q, kNesterov); }
void reference(const OpQuery& q, const Call& call) noexcept { run_update(q, call, kNesterov); }
std::vector<Example> examples() { return update_examples(kNesterov, {{"momentum", 0.75}, {"weight_decay", 0.125}}); }

}  // namespace

extern constinit const OpDef def = {
    .name = "nesterov_update",
    .formula = "d = g + weight_decay * p; v' = momentum * v + d; p' = p - lr * (d + momentum * v')",
    .attributes = kAttributes,
    .infer = infer,
    .in_place = std::span(kUpdatePairs).first(2),
    .is_update = true,
    .flops = flops,
    .reference = reference,
    .examples = examples};

}  // namespace thimble::ops::nesterov_update
