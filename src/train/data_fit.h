// What a network takes from the data it is trained on.
#pragma once

#include "data/dataset.h"
#include "models/model.h"

namespace thimble {

// Sample and classes as the data have them. UserError if one wants a class for each image and the other has one for
// every place of it.
void fit_to_data(ModelSpec& model, const Dataset& dataset);

}  // namespace thimble
