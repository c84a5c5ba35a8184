// The passes, one file each. Their order, with its reasons, is in compile/recipe.cpp.
#pragma once

#include "passes/pass.h"

namespace thimble::passes {

extern const Pass kSimplify;
extern const Pass kFuseNormActivation;
extern const Pass kFuseConvActivation;
extern const Pass kFuseAddActivation;
extern const Pass kBf16Storage;
extern const Pass kSparseParameters;
extern const Pass kSplitNorms;
extern const Pass kFlattenConcats;
extern const Pass kFuseAccumulate;
extern const Pass kFuseSum;
extern const Pass kFuseNormalize;
extern const Pass kFuseMoments;
extern const Pass kFuseUpdate;
extern const Pass kRemoveDeadNodes;

}  // namespace thimble::passes
