// What a request allows, before anything is made for it.
#pragma once

#include <vector>

#include "compile/compile.h"

namespace thimble {

void check_request(const CompileRequest& request);  // UserError names what makes no sense

// Whether microbatches are allowed; UserError if one is asked for that would change the result without leave.
bool check_splitting(const CompileRequest& request, OpTable ops);

// The one asked for, or all that are worth a look, the largest first.
std::vector<std::int64_t> microbatch_candidates(const CompileRequest& request, bool may_split);

}  // namespace thimble
