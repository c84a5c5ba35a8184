// A network as a forward graph, with what training needs to know of its parameters. Built as code that reads like the
// paper's table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace thimble {

enum class Mode : std::uint8_t { training, inference };

// What a class is given to: each image, or every place of it.
enum class Labels : std::uint8_t { image, place };

constexpr std::string_view name_of(Labels labels) { return labels == Labels::image ? "image" : "place"; }

enum class Init : std::uint8_t { zeros, ones, normal, uniform };

// A persistent tensor of the network itself: parameters and running statistics, under PyTorch's names.
struct TensorSpec {
  std::string name;
  Type type;  // our storage: convolution (KH,KW,C_in/groups,C_out), linear (C_in,C_out); PyTorch's files hold the
              // transpose
  Init init = Init::zeros;
  double scale = 1;               // standard deviation, or half-width of the uniform range
  bool sparse_candidate = false;  // a tensor that sparse training may prune
};

struct ModelSpec {
  std::string name = "wrn28-2";
  std::int64_t samples = 1;
  Shape sample;  // (H, W, C)
  std::int64_t classes = 10;
  Mode mode = Mode::training;
  double dropout = 0;
  double label_smoothing = 0;
};

struct Model {
  Graph graph;  // holds images, labels, logits, loss, hits under the names of grad/training.h
  std::vector<TensorSpec> tensors;
};

struct ModelInfo {
  std::string_view name;  // as typed, with <..> where numbers go and [..] around what may be left out
  std::string_view summary;
  std::string_view example;
};

std::vector<ModelInfo> known_models();
Shape default_sample(std::string_view name);  // the input a model was published with; UserError for an unknown model

std::int64_t default_classes(std::string_view name);  // likewise

Labels labels_of(std::string_view name);  // that a model is trained with; likewise

// UserError for an unknown name (with the nearest known one) or an input the network cannot take.
Model build_model(const ModelSpec& spec, OpTable ops);

}  // namespace thimble
