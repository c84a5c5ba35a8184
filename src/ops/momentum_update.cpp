// Heavy-ball momentum with the gradient of the whole batch at hand.
#include "ops/update_rules.h"

namespace thimble::ops::momentum_update {
namespace {

constexpr AttributeDef kAttributes[] = {{"momentum", AttributeKind::number, ""},
                                        {"weight_decay", AttributeKind::number, "0"},
                                        {"rounding", AttributeKind::word, "nearest"},
                                        {"key", AttributeKind::integer, "0"}};

std::vector<Type> infer(const OpQuery& q) { return infer_update("momentum_update", q, kMomentum); }
double flops(const OpQuery& q) { return update_flops(q, kMomentum); }
void reference(const OpQuery& q, const Call& call) noexcept { run_update(q, call, kMomentum); }
std::vector<Example> examples() { return update_examples(kMomentum, {{"momentum", 0.75}, {"weight_decay", 0.125}}); }

}  // namespace

extern constinit const OpDef def = {.name = "momentum_update",
                                    .formula = "v' = momentum * v + g + weight_decay * p; p' = p - lr * v'",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .in_place = std::span(kUpdatePairs).first(2),
                                    .is_update = true,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::momentum_update
