#include "compile/recipe.h"

#include "passes/passes.h"

namespace thimble {

std::span<const Pass> forward_recipe() {
  static const Pass kRecipe[] = {
      passes::kSimplify,            // first, so that no later pass meets a node that does nothing
      passes::kFuseNormActivation,  // before gradients: the fused op has its own rule, which re-derives the mask and
                                    // keeps no output
      passes::kFuseConvActivation, passes::kFuseAddActivation,
      passes::kBf16Storage,       // before gradients, so that every gradient takes the type of what it belongs to
      passes::kSparseParameters,  // after storage types are known: pools hold the final type
  };
  return kRecipe;
}

std::span<const Pass> training_recipe() {
  static const Pass kRecipe[] = {
      passes::kSplitNorms,       // after gradients: the rule of the whole norm is better than that of its halves
      passes::kFlattenConcats,   // after gradients: backward carries one gradient down a chain of concatenations
      passes::kSimplify,         // gradients of casts and reshapes may have become identities
      passes::kFuseAccumulate,   // after gradients have lost the casts between them and their totals
      passes::kFuseSum,          // after gradients of casts are gone that part a gradient from its sum
      passes::kFuseNormalize,    // after all passes that look for convolutions and their gradients
      passes::kFuseMoments,      // after norms are split, and convolutions that read one are known by another name
      passes::kFuseUpdate,       // after gradients that are summed up, and those that read a norm, have their names
      passes::kRemoveDeadNodes,  // last: whatever lost its readers
  };
  return kRecipe;
}

}  // namespace thimble
