#include "train/data_fit.h"

#include "base/error.h"

namespace thimble {
namespace {

std::string_view text_of(Labels labels) {
  return labels == Labels::image ? "for each image" : "for every place of an image";
}

}  // namespace

void fit_to_data(ModelSpec& model, const Dataset& dataset) {
  const DatasetInfo& data = dataset.info();
  const Labels wanted = labels_of(model.name), found = data.has_masks ? Labels::place : Labels::image;
  require(wanted == found, "model: ", model.name, " wants a class ", text_of(wanted), ", ", data.name, " has one ",
          text_of(found));
  model.sample = data.sample_shape;
  model.classes = dataset.class_count();
}

}  // namespace thimble
