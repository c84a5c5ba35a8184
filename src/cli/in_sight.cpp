#include "cli/in_sight.h"

#include "cli/terminal.h"
#include "report/waiting_line.h"

namespace thimble::cli {

CompileResult compile_in_sight(const CompileRequest& request, std::string what, OpTable ops, KernelTable kernels) {
  const WaitingLine line(redrawable(stderr), std::move(what));
  return compile(request, ops, kernels);
}

Exploration explore_in_sight(const CompileRequest& request, std::string what, OpTable ops, KernelTable kernels) {
  const WaitingLine line(redrawable(stderr), std::move(what));
  return explore(request, ops, kernels);
}

}  // namespace thimble::cli
