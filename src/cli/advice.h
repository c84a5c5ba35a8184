// What would make a run fit that does not: found by compiling it, never guessed.
#pragma once

#include <functional>
#include <string>

#include "compile/compile.h"

namespace thimble::cli {

struct Advice {
  std::string option;  // as typed: "--precision bf16", "wrn28-2-gn instead of wrn28-2"
  bool fits = false;   // the budget asked for
  Bytes smallest_memory = 0;
};

// Tries options one by one, least harmful first, and tells of each that makes the budget fit or at least brings the
// smallest budget down. Ends after three that fit.
void try_options(const CompileRequest& request, Bytes smallest_memory, OpTable ops, KernelTable kernels,
                 const std::function<void(const Advice&)>& tell);

}  // namespace thimble::cli
