// Reference kernels for every node, on one thread: for tests that ask about order, memory or search, not about speed.
#pragma once

#include "select/select.h"

namespace thimble::testing {

inline Selected select_references(Training training) {
  return select_kernels(std::move(training), cpu_kernels(),
                        {.target = {Isa::generic, 1}, .use_references = true, .cost = {}});
}

}  // namespace thimble::testing
