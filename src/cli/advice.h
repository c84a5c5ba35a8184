// What would make a run fit that does not: found by compiling it, never guessed.
#pragma once

#include <string>
#include <vector>

#include "compile/compile.h"

namespace thimble::cli {

struct Advice {
  std::string option;  // as typed: "--precision bf16", "wrn28-2-gn instead of wrn28-2"
  bool fits = false;   // the budget asked for
  Bytes smallest_memory = 0;
};

// Options that make the budget fit, or else those that bring the smallest budget down; best first.
std::vector<Advice> find_advice(const CompileRequest& request, Bytes smallest_memory, OpTable ops, KernelTable kernels);

}  // namespace thimble::cli
