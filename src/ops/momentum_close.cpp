// Last microbatch of heavy-ball momentum: the velocity is complete and moves the parameter.
#include "ops/update_rules.h"

namespace thimble::ops::momentum_close {
namespace {

constexpr AttributeDef kAttributes[] = {{"rounding", AttributeKind::word, "nearest"},
                                        {"key", AttributeKind::integer, "0"}};

std::vector<Type> infer(const OpQuery& q) { return infer_update("momentum_close", q, kMomentumClose); }
double flops(const OpQuery& q) { return update_flops(q, kMomentumClose); }
void reference(const OpQuery& q, const Call& call) noexcept { run_update(q, call, kMomentumClose); }
std::vector<Example> examples() { return update_examples(kMomentumClose, {}); }

}  // namespace

extern constinit const OpDef def = {.name = "momentum_close",
                                    .formula = "v' = v + g; p' = p - lr * v'",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .in_place = std::span(kUpdatePairs).first(2),
                                    .is_update = true,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::momentum_close
