// First microbatch of heavy-ball momentum: the velocity itself gathers the gradients, so no accumulator is needed.
#include "ops/update_rules.h"

namespace thimble::ops::momentum_open {
namespace {

constexpr AttributeDef kAttributes[] = {{"momentum", AttributeKind::number, ""},
                                        {"weight_decay", AttributeKind::number, "0"},
                                        {"rounding", AttributeKind::word, "nearest"},
                                        {"key", AttributeKind::integer, "0"}};

std::vector<Type> infer(const OpQuery& q) { return infer_update("momentum_open", q, kMomentumOpen); }
double flops(const OpQuery& q) { return update_flops(q, kMomentumOpen); }
void reference(const OpQuery& q, const Call& call) noexcept { run_update(q, call, kMomentumOpen); }
std::vector<Example> examples() {
  return update_examples(kMomentumOpen, {{"momentum", 0.75}, {"weight_decay", 0.125}});
}

}  // namespace

extern constinit const OpDef def = {.name = "momentum_open",
                                    .formula = "v' = momentum * v + weight_decay * p + g",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .in_place = std::span(kUpdatePairs).first(1),
                                    .is_update = true,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::momentum_open
