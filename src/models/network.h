// The small vocabulary in which networks are written down: each call adds nodes and notes the parameters they need.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/model.h"

namespace thimble {

class Network {
 public:
  Network(const ModelSpec& spec, OpTable ops, Labels labels = Labels::image);

  enum class Norm : std::uint8_t { none, batch, group };

  struct Conv {
    std::int64_t channels = 0;
    std::int64_t kernel = 3;
    std::int64_t stride = 1;
    std::optional<std::int64_t> padding = std::nullopt;  // half the kernel unless told
    std::int64_t groups = 1;
    bool bias = false;  // starts at zero
    bool sparse_candidate = false;
  };

  ValueId images() const { return images_; }
  const Shape& shape(ValueId x) const { return graph_.value(x).type.shape; }
  std::int64_t channels(ValueId x) const { return shape(x).at(-1); }

  ValueId conv(ValueId x, std::string_view name, const Conv& conv);  // He-normal by fan-out
  // A convolution of every channel with itself alone, `conv.channels` and `conv.groups` left out.
  ValueId depthwise(ValueId x, std::string_view name, Conv conv);
  // The transpose of a convolution with stride = kernel: every place becomes kernel x kernel places. With bias.
  ValueId conv_transposed(ValueId x, std::string_view name, std::int64_t channels, std::int64_t kernel);
  ValueId norm(ValueId x, std::string_view name, Norm kind);  // x itself for Norm::none
  ValueId relu(ValueId x, std::string_view name);
  ValueId relu6(ValueId x, std::string_view name);
  ValueId add(ValueId a, ValueId b, std::string_view name);
  // `ceil` lets the last window hang over the border, as PyTorch's ceil_mode does.
  ValueId max_pool(ValueId x, std::int64_t kernel, std::int64_t stride, std::int64_t padding, std::string_view name,
                   bool ceil = false);
  ValueId avg_pool(ValueId x, std::int64_t kernel, std::int64_t stride, std::string_view name);
  ValueId global_pool(ValueId x, std::string_view name);
  ValueId concat(const std::vector<ValueId>& parts, std::string_view name);  // of channels
  ValueId channels_of(ValueId x, std::int64_t begin, std::int64_t end, std::string_view name);
  ValueId pad_channels(ValueId x, std::int64_t before, std::int64_t after, std::string_view name);  // with zeros
  ValueId shuffle(ValueId x, std::int64_t groups, std::string_view name);
  ValueId upsample(ValueId x, std::int64_t height, std::int64_t width, std::string_view name);  // bilinear
  ValueId flatten(ValueId x, std::string_view name);
  // Channel by channel, as PyTorch lays out images: weights behind it then mean the same on both sides.
  ValueId flatten_by_channel(ValueId x, std::string_view name);
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
