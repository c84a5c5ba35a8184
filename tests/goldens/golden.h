// What PyTorch answered (tools/goldens/make_goldens.py) and the recipe that lets us ask ourselves the same.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/safetensors.h"
#include "grad/optimizer.h"
#include "models/model.h"

namespace thimble::testing {

constexpr int kThreads = 2;  // that ours may take

struct OptimizerRecipe {
  OptimizerSpec spec;
  float learning_rate = 0;
};

struct Recipe {
  ModelSpec model;
  std::int64_t batch = 0;
  std::uint64_t seed = 0;
  std::int64_t steps = 0;
  std::map<std::string, OptimizerRecipe> optimizers;
  // How far PyTorch's own float32 is from its float64, by group: "logits", "loss", "gradient", "losses", ...
  std::map<std::string, double> float32_error;
  // Which batch a step takes, for each optimizer and for "gradient".
  std::map<std::string, std::vector<std::int64_t>> batches;
};

// What is added to one bias before step `step`, so that no input of a ReLU lies near zero (tools/goldens/edges.py).
struct Shift {
  std::string parameter;
  std::vector<double> values;
};

class Golden {
 public:
  explicit Golden(const std::string& name);  // tests/goldens/NAME.json and NAME.safetensors

  const Recipe& recipe() const { return recipe_; }
  bool has(const std::string& tensor) const { return file_.table().find(tensor).has_value(); }
  std::vector<double> stored(const std::string& tensor) const;
  std::vector<std::string> names_under(const std::string& prefix) const;  // without the prefix

  // `group` is an optimizer or "gradient".
  std::vector<Shift> shifts(const std::string& group, std::int64_t step) const;

  // |ours - PyTorch's| / |PyTorch's| in L2; `ours` whole and in PyTorch's order.
  double relative_error(const std::string& tensor, const std::vector<double>& ours) const;
  // The same relative to how far PyTorch's tensor is from `origin`.
  double relative_error_from(const std::string& tensor, const std::vector<double>& ours,
                             const std::vector<double>& origin) const;

 private:
  Recipe recipe_;
  SafetensorsFile file_;
};

// The weights of a recipe, and the images and labels of a batch from sample `first` on.
void draw_tensor(const Recipe& recipe, const TensorSpec& spec, const TensorView& out);
void draw_images(const Recipe& recipe, std::int64_t index, std::int64_t first, const TensorView& out);
void draw_labels(const Recipe& recipe, std::int64_t index, std::int64_t first, const TensorView& out);

// The elements of a parameter, or of anything shaped like it, in PyTorch's order.
std::vector<double> in_torch_order(const TensorView& view);

}  // namespace thimble::testing
