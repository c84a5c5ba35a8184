// Adam with decoupled weight decay; the decay does not pass through the moments.
#include "ops/update_rules.h"

namespace thimble::ops::adamw_update {
namespace {

constexpr AttributeDef kAttributes[] = {
    {"beta1", AttributeKind::number, "0.9"},      {"beta2", AttributeKind::number, "0.999"},
    {"eps", AttributeKind::number, "1e-8"},       {"weight_decay", AttributeKind::number, "0.01"},
    {"rounding", AttributeKind::word, "nearest"}, {"key", AttributeKind::integer, "0"}};

std::vector<Type> infer(const OpQuery& q) { return infer_update("adamw_update", q, kAdamw); }
double flops(const OpQuery& q) { return update_flops(q, kAdamw); }
void reference(const OpQuery& q, const Call& call) noexcept { run_update(q, call, kAdamw); }
std::vector<Example> examples() { return update_examples(kAdamw, {{"beta1", 0.75}, {"beta2", 0.875}}); }

}  // namespace

extern constinit const OpDef def = {
    .name = "adamw_update",
    .formula =
        "m' = beta1 * m + (1 - beta1) * g; v' = beta2 * v + (1 - beta2) * g^2; t = iteration + 1; p' = p * (1 - lr * "
        "weight_decay) - lr * (m' / (1 - beta1^t)) / (sqrt(v' / (1 - beta2^t)) + eps)",
    .attributes = kAttributes,
    .infer = infer,
    .in_place = std::span(kUpdatePairs).first(3),
    .is_update = true,
    .flops = flops,
    .reference = reference,
    .examples = examples};

}  // namespace thimble::ops::adamw_update
