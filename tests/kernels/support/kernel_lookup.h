// Single kernels by op and instruction set, for tests of what several kernels promise together.
#pragma once

#include <algorithm>

#include "kernels/support/kernel_run.h"

namespace thimble::testing {

inline std::vector<Isa> runnable_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::avx2, Isa::avx512, Isa::neon}) {
    if (includes(detect_isa(), isa)) isas.push_back(isa);
  }
  return isas;
}

inline const Kernel& kernel_for(std::string_view op, Isa isa) {
  for (const Kernel* kernel : cpu_kernels()) {
    if (kernel->op == op && kernel->isa == isa) return *kernel;
  }
  fail_internal(join_text("there is no kernel for ", op, " on ", name_of(isa)));
}

// A kernel for special cases: where it refuses, another one of the same op and instruction set stands behind it, or,
// behind matrix registers, one that multiplies pairs.
inline bool has_fallback(const Kernel& kernel) {
  const Isa behind = kernel.isa == Isa::amx_bf16 ? Isa::avx512_bf16 : kernel.isa;
  return std::ranges::any_of(cpu_kernels(), [&](const Kernel* other) {
    return other->op == kernel.op && other->isa == behind && other->rank < kernel.rank;
  });
}

// Runs the kernel of `op` apart from its inputs and gives its outputs.
inline std::vector<Tensor> run_by_kernel(std::string_view op, Isa isa, const Attributes& attributes,
                                         const std::vector<Tensor>& in, int threads,
                                         const RunScalars& scalars = kTestScalars) {
  const OpDef* def = find_op(op_table(), op);
  ensure(def != nullptr, "there is no op '", op, "'");
  const OpCase c{def, types_of(in), complete_attributes(*def, attributes)};
  const Kernel& kernel = kernel_for(op, isa);
  const std::vector<Type> out = c.out();
  const std::string reason = kernel.refuse(query_of(c, out, threads));
  ensure(reason.empty(), "the kernel of ", op, " refuses ", describe(c), ": ", reason);
  return run_kernel(kernel, c, in, {.threads = threads}, scalars).out;
}

inline Tensor normal_tensor(const Type& type, std::uint64_t stream, double mean = 0, double deviation = 1) {
  Tensor tensor(type);
  const RandomKey key = random_key(1, RandomPurpose::test, stream);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    tensor.set(i, mean + deviation * static_cast<double>(random_normal(key, static_cast<std::uint64_t>(i))));
  }
  return tensor;
}

}  // namespace thimble::testing
