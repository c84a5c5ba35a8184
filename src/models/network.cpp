#include "models/network.h"

#include <cmath>

#include "base/error.h"
#include "base/random.h"

namespace thimble {
namespace {

// These names are the contract of grad/training.h; models stand below grad and may not include it.
constexpr double kNormEpsilon = 1e-5;
constexpr double kRunningMomentum = 0.1;

// Group norm with groups of 8 channels, as in TinyTL; fewer channels than that make one group.
std::int64_t group_count(std::int64_t channels) { return channels % 8 == 0 ? channels / 8 : 1; }

}  // namespace

Network::Network(const ModelSpec& spec, OpTable ops, Labels labels) : spec_(spec), graph_(ops) {
  require(spec.samples >= 1, "model: found a batch of ", spec.samples, " samples, wanted at least 1");
  require(spec.classes >= 2, "model: found ", spec.classes, " classes, wanted at least 2");
  images_ = graph_.add_source("images", {DType::f32, {spec.samples, spec.sample[0], spec.sample[1], spec.sample[2]}},
                              Role::input);
  const Shape labelled =
      labels == Labels::image ? Shape{spec.samples} : Shape{spec.samples, spec.sample[0], spec.sample[1]};
  labels_ = graph_.add_source("labels", {DType::i32, labelled}, Role::label);
}

ValueId Network::tensor(TensorSpec spec, Role role) {
  const ValueId id = graph_.add_source(spec.name, spec.type, role);
  tensors_.push_back(std::move(spec));
  return id;
}

ValueId Network::conv(ValueId x, std::string_view name, const Conv& conv) {
  const std::string base(name);
  // What one input reaches: of a grouped convolution only the channels of its group.
  const double fan_out = static_cast<double>(conv.kernel * conv.kernel * conv.channels / conv.groups);
  require(channels(x) % conv.groups == 0, "model: found ", channels(x), " channels before '", name,
          "', wanted a multiple of its ", conv.groups, " groups");
  std::vector<ValueId> inputs = {
      x, tensor({.name = base + ".weight",
                 .type = {DType::f32, {conv.kernel, conv.kernel, channels(x) / conv.groups, conv.channels}},
                 .init = Init::normal,
                 .scale = std::sqrt(2.0 / fan_out),
                 .sparse_candidate = conv.sparse_candidate},
                Role::parameter)};
  if (conv.bias) {
    inputs.push_back(tensor({.name = base + ".bias", .type = {DType::f32, {conv.channels}}}, Role::parameter));
  }
  const std::int64_t padding = conv.padding.value_or(conv.kernel / 2);
  return graph_.apply("conv2d", inputs, {{"stride", conv.stride}, {"padding", padding}, {"groups", conv.groups}}, name);
}

ValueId Network::depthwise(ValueId x, std::string_view name, Conv conv) {
  conv.channels = conv.groups = channels(x);
  return this->conv(x, name, conv);
}

ValueId Network::conv_transposed(ValueId x, std::string_view name, std::int64_t channels, std::int64_t kernel) {
  const std::string base(name);
  const Shape in = shape(x);
  // A transposed convolution is the gradient of a convolution from `channels` to x's channels; its weights lie as that
  // one's do, which is also the order of PyTorch's ConvTranspose2d.
  const ValueId weight = tensor({.name = base + ".weight",
                                 .type = {DType::f32, {kernel, kernel, channels, in[3]}},
                                 .init = Init::normal,
                                 .scale = std::sqrt(2.0 / static_cast<double>(kernel * kernel * channels))},
                                Role::parameter);
  const ValueId bias = tensor({.name = base + ".bias", .type = {DType::f32, {channels}}}, Role::parameter);
  const ValueId y = graph_.apply("conv2d_grad_input", {x, weight},
                                 {{"stride", kernel}, {"height", in[1] * kernel}, {"width", in[2] * kernel}}, name);
  return graph_.apply("add_bias", {y, bias}, {}, base + ".sum");
}

ValueId Network::norm(ValueId x, std::string_view name, Norm kind) {
  if (kind == Norm::none) return x;
  const std::string base(name);
  const Type vector{DType::f32, {channels(x)}};
  const ValueId gamma = tensor({.name = base + ".weight", .type = vector, .init = Init::ones}, Role::parameter);
  const ValueId beta = tensor({.name = base + ".bias", .type = vector}, Role::parameter);
  if (kind == Norm::group) {
    return graph_.apply("group_norm", {x, gamma, beta}, {{"groups", group_count(channels(x))}, {"eps", kNormEpsilon}},
                        name);
  }
  const ValueId mean = tensor({.name = base + ".running_mean", .type = vector}, Role::statistic);
  const ValueId variance = tensor({.name = base + ".running_var", .type = vector, .init = Init::ones}, Role::statistic);
  if (spec_.mode == Mode::inference) {
    const ValueId rstd = graph_.apply("reciprocal_sqrt", {variance}, {{"eps", kNormEpsilon}}, base + ".rstd");
    return graph_.apply("normalize", {x, mean, rstd, gamma, beta}, {}, name);
  }
  const NodeId node = graph_.add_node("batch_norm", {x, gamma, beta}, {{"eps", kNormEpsilon}}, name);
  const std::vector<ValueId> outputs = graph_.node(node).outputs;
  const std::int64_t count = graph_.value(x).type.shape.count() / channels(x);
  graph_.add_node("update_running", {mean, variance, outputs[1], outputs[2]},
                  {{"momentum", kRunningMomentum}, {"eps", kNormEpsilon}, {"count", count}},
                  "next/" + base + ".running_mean", Role::statistic);
  return outputs[0];
}

ValueId Network::relu(ValueId x, std::string_view name) { return graph_.apply("relu", {x}, {}, name); }

ValueId Network::relu6(ValueId x, std::string_view name) { return graph_.apply("relu6", {x}, {}, name); }

ValueId Network::add(ValueId a, ValueId b, std::string_view name) { return graph_.apply("add", {a, b}, {}, name); }

ValueId Network::max_pool(ValueId x, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                          std::string_view name, bool ceil) {
  return graph_.apply("max_pool", {x},
                      {{"kernel", kernel}, {"stride", stride}, {"padding", padding}, {"ceil", ceil ? 1 : 0}}, name);
}

ValueId Network::avg_pool(ValueId x, std::int64_t kernel, std::int64_t stride, std::string_view name) {
  return graph_.apply("avg_pool", {x}, {{"kernel", kernel}, {"stride", stride}}, name);
}

ValueId Network::concat(const std::vector<ValueId>& parts, std::string_view name) {
  return graph_.apply("concat", parts, {}, name);
}

ValueId Network::channels_of(ValueId x, std::int64_t begin, std::int64_t end, std::string_view name) {
  return graph_.apply("slice", {x}, {{"begin", begin}, {"end", end}}, name);
}

ValueId Network::pad_channels(ValueId x, std::int64_t before, std::int64_t after, std::string_view name) {
  return graph_.apply("pad", {x}, {{"before", before}, {"after", after}}, name);
}

ValueId Network::shuffle(ValueId x, std::int64_t groups, std::string_view name) {
  return graph_.apply("channel_shuffle", {x}, {{"groups", groups}}, name);
}

ValueId Network::upsample(ValueId x, std::int64_t height, std::int64_t width, std::string_view name) {
  return graph_.apply("upsample_bilinear", {x}, {{"height", height}, {"width", width}}, name);
}

ValueId Network::global_pool(ValueId x, std::string_view name) {
  return graph_.apply("global_avg_pool", {x}, {}, name);
}

ValueId Network::flatten(ValueId x, std::string_view name) { return graph_.apply("flatten", {x}, {}, name); }

ValueId Network::flatten_by_channel(ValueId x, std::string_view name) {
  const std::string base(name);
  const Shape in = shape(x);
  if (in[1] * in[2] == 1) return flatten(x, name);
  const std::string rows = join_text(in[0], ",", in[1] * in[2], ",", in[3]);
  x = graph_.apply("reshape", {x}, {{"shape", rows}}, base + ".rows");
  return flatten(graph_.apply("transpose", {x}, {}, base + ".transposed"), name);
}

ValueId Network::dropout(ValueId x, std::string_view name) {
  if (spec_.dropout == 0 || spec_.mode == Mode::inference) return x;
  const auto key = static_cast<std::int64_t>(hash_text(name.data(), name.size()) & 0x7fffffff);
  return graph_.apply("dropout", {x}, {{"p", spec_.dropout}, {"key", key}}, name);
}

ValueId Network::linear(ValueId x, std::string_view name, std::int64_t outputs, bool sparse_candidate) {
  // PyTorch's default for linear layers: uniform within 1/sqrt(inputs), weight and bias alike.
  const std::string base(name);
  const double bound = 1.0 / std::sqrt(static_cast<double>(channels(x)));
  const ValueId weight = tensor({.name = base + ".weight",
                                 .type = {DType::f32, {channels(x), outputs}},
                                 .init = Init::uniform,
                                 .scale = bound,
                                 .sparse_candidate = sparse_candidate},
                                Role::parameter);
  const ValueId bias =
      tensor({.name = base + ".bias", .type = {DType::f32, {outputs}}, .init = Init::uniform, .scale = bound},
             Role::parameter);
  return graph_.apply("linear", {x, weight, bias}, {}, name);
}

Model Network::finish(ValueId logits) {
  graph_.rename(logits, "logits");
  const NodeId loss =
      graph_.add_node("softmax_cross_entropy", {logits, labels_}, {{"smoothing", spec_.label_smoothing}}, "loss");
  graph_.rename(graph_.node(loss).outputs[1], "hits");
  return {std::move(graph_), std::move(tensors_)};
}

}  // namespace thimble
