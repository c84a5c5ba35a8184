// Plain gradient descent: no state beside the parameter.
#include "ops/update_rules.h"

namespace thimble::ops::sgd_update {
namespace {

constexpr AttributeDef kAttributes[] = {{"weight_decay", AttributeKind::number, "0"},
                                        {"rounding", AttributeKind::word, "nearest"},
                                        {"key", AttributeKind::integer, "0"}};

std::vector<Type> infer(const OpQuery& q) { return infer_update("sgd_update", q, kSgd); }
double flops(const OpQuery& q) { return update_flops(q, kSgd); }
void reference(const OpQuery& q, const Call& call) noexcept { run_update(q, call, kSgd); }
std::vector<Example> examples() { return update_examples(kSgd, {{"weight_decay", 0.125}}); }

}  // namespace

extern constinit const OpDef def = {.name = "sgd_update",
                                    .formula = "p' = p - lr * (g + weight_decay * p)",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .in_place = std::span(kUpdatePairs).first(1),
                                    .is_update = true,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::sgd_update
