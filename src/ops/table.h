// All ops, sorted by name: the directory listing of ops/.
#pragma once

#include "ir/op_def.h"

namespace thimble {

OpTable op_table();

}  // namespace thimble
