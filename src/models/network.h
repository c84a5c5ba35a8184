// The small vocabulary in which networks are written down: each call adds nodes and notes the parameters they need.
#pragma once

#include <string>
#include <string_view>

#include "models/model.h"

namespace thimble {

class Network {
 public:
  Network(const ModelSpec& spec, OpTable ops);

  enum class Norm : std::uint8_t { batch, group };

  struct Conv {
    std::int64_t channels = 0;
    std::int64_t kernel = 3;
    std::int64_t stride = 1;
    std::int64_t padding = 1;
    bool sparse_candidate = false;
  };

  ValueId images() const { return images_; }
  std::int64_t channels(ValueId x) const { return graph_.value(x).type.shape.at(-1); }

  ValueId conv(ValueId x, std::string_view name, const Conv& conv);  // no bias, He-normal by fan-out
  ValueId norm(ValueId x, std::string_view name, Norm kind);
  ValueId relu(ValueId x, std::string_view name);
  ValueId add(ValueId a, ValueId b, std::string_view name);
  ValueId max_pool(ValueId x, std::int64_t kernel, std::int64_t stride, std::int64_t padding, std::string_view name);
  ValueId global_pool(ValueId x, std::string_view name);
  ValueId flatten(ValueId x, std::string_view name);
  ValueId dropout(ValueId x, std::string_view name);  // nothing where the rate is zero or in inference
  ValueId linear(ValueId x, std::string_view name, std::int64_t outputs, bool sparse_candidate = false);

  // Softmax cross-entropy on `logits`; ends the network.
  Model finish(ValueId logits);

 private:
  ValueId tensor(TensorSpec spec, Role role);

  const ModelSpec& spec_;
  Graph graph_;
  std::vector<TensorSpec> tensors_;
  ValueId images_;
  ValueId labels_;
};

}  // namespace thimble
