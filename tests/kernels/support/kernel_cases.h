// The uses on which every kernel is tested: its op's examples, a few odd sizes large enough for several threads, and
// both dtypes.
#pragma once

#include <array>
#include <bit>
#include <span>

#include "support/op_cases.h"

namespace thimble::testing {

inline Type plain(const Shape& shape) { return {DType::f32, shape}; }

struct NormExample {
  Shape x;
  std::int64_t groups;
};

// Channels below a vector, no multiple of one, and more than a panel; samples that threads divide and that they do not.
inline const std::array kNormExamples = {NormExample{{5, 13, 17, 37}, 1}, NormExample{{3, 29, 31, 10}, 5},
                                         NormExample{{70, 4, 4, 64}, 8},  NormExample{{300, 65}, 1},
                                         NormExample{{1, 41, 37, 12}, 3}, NormExample{{2, 9, 9, 132}, 12}};

inline void add_norm_examples(std::string_view op, std::vector<Example>& all) {
  const bool is_group = op.starts_with("group");
  for (const NormExample& e : kNormExamples) {
    const Type x = plain(e.x), channel = plain({e.x.at(-1)});
    const Type batch_statistic = channel, group_statistic = plain({e.x[0], e.groups});
    const Type statistic = is_group ? group_statistic : batch_statistic;
    Attributes attributes;
    if (is_group) attributes.set("groups", e.groups);
    if (op.ends_with("_moments")) all.push_back({{x}, attributes});
    attributes.set("activation", std::string(e.x[0] % 2 == 0 ? "none" : e.x[0] == 3 ? "relu6" : "relu"));
    if (op == "batch_norm" || op == "group_norm") all.push_back({{x, channel, channel}, attributes});
    if (op.ends_with("_norm_grad")) all.push_back({{x, statistic, statistic, channel, channel, x}, attributes});
    if (op == "normalize") {
      all.push_back({{x, channel, channel, channel, channel}, attributes});
      attributes.set("groups", e.groups);
      all.push_back({{x, group_statistic, group_statistic, channel, channel}, attributes});
    }
  }
}

inline void add_pool_examples(std::string_view op, std::vector<Example>& all) {
  const Type x = plain({3, 19, 23, 24}), y = plain({3, 10, 12, 24});
  const Attributes window = {{"kernel", std::int64_t{3}}, {"stride", std::int64_t{2}}, {"padding", std::int64_t{1}}};
  Attributes backward = window;
  backward.set("height", std::int64_t{19});
  backward.set("width", std::int64_t{23});
  if (op == "avg_pool" || op == "max_pool") all.push_back({{x}, window});
  if (op == "avg_pool_grad") all.push_back({{y}, backward});
  if (op == "max_pool_grad") all.push_back({{y, {DType::u8, y.shape}}, backward});
  if (op == "global_avg_pool") all.push_back({{x}, {}});
  if (op == "global_avg_pool_grad") {
    all.push_back({{plain({3, 24})}, {{"height", std::int64_t{19}}, {"width", std::int64_t{23}}}});
  }
}

// Rows long and short, odd and whole numbers of vectors, few and many of them, and more than one thread's worth.
inline void add_move_examples(std::string_view op, std::vector<Example>& all) {
  if (op == "concat") {
    all.push_back({{plain({3, 19, 23, 12}), plain({3, 19, 23, 5})}, {}});
    all.push_back({{plain({2, 67, 129}), plain({2, 1, 129}), plain({2, 8, 129})}, {{"axis", std::int64_t{1}}}});
  }
  if (op == "slice") {
    all.push_back({{plain({3, 19, 23, 29})}, {{"begin", std::int64_t{7}}, {"end", std::int64_t{26}}}});
  }
  if (op == "pad") {
    all.push_back({{plain({3, 19, 23, 11})}, {{"before", std::int64_t{6}}, {"after", std::int64_t{3}}}});
  }
  if (op == "channel_shuffle") {
    for (const std::int64_t groups : {2, 3, 4, 5, 16, 20, 40, 60, 80, 120}) {
      all.push_back({{plain({5, 13, 7, 240})}, {{"groups", groups}}});
    }
  }
  if (op == "transpose") {
    const auto axes = [](std::int64_t a, std::int64_t b) { return Attributes{{"axis0", a}, {"axis1", b}}; };
    all.push_back({{plain({131, 157})}, axes(0, 1)});
    all.push_back({{plain({2, 64, 5, 48})}, axes(1, 3)});
    all.push_back({{plain({3, 37, 9, 21})}, axes(2, 1)});
    all.push_back({{plain({40, 3, 11, 16})}, axes(0, 2)});
  }
}

inline void add_resize_examples(std::string_view op, std::vector<Example>& all) {
  const auto size = [](std::int64_t height, std::int64_t width) {
    return Attributes{{"height", height}, {"width", width}};
  };
  const Type small = plain({3, 9, 11, 24}), doubled = plain({3, 18, 22, 24}), wide = plain({1, 5, 4, 149});
  if (op == "upsample_bilinear") {
    all.push_back({{small}, size(18, 22)});
    all.push_back({{wide}, size(13, 11)});
    all.push_back({{doubled}, size(7, 5)});
  }
  if (op == "upsample_bilinear_grad") {
    all.push_back({{doubled}, size(9, 11)});
    all.push_back({{plain({1, 13, 11, 149})}, size(5, 4)});
    all.push_back({{plain({3, 7, 15, 72})}, size(18, 22)});
  }
}

inline void add_sparse_examples(std::string_view op, std::vector<Example>& all) {
  const std::int64_t count = 20011;
  const Type pool{DType::f32, {25000}, Layout::pooled}, table{DType::i32, {4}}, mask{DType::u8, {(count + 7) / 8}};
  Attributes attributes{{"slot", std::int64_t{1}}};
  if (op == "sparse_to_dense") {
    attributes.set("shape", std::string("20011"));
    all.push_back({{pool, mask, table}, attributes});
    return;
  }
  if (op == "sparse_norm") {
    all.push_back({{plain({count}), mask, table}, attributes});
    all.push_back({{pool, mask, table}, attributes});
    return;
  }
  attributes.set("rounding", std::string("stochastic"));
  if (op == "sparse_accumulate") all.push_back({{pool, mask, table, plain({count})}, attributes});
  if (op == "sparse_update") {
    attributes.set("rule", std::string("nesterov"));
    all.push_back({{pool, pool, mask, table, plain({count})}, attributes});
    all.push_back({{pool, pool, mask, table, pool}, attributes});
  }
}

// Channels below a vector, no multiple of one, and more than a panel; one thread's rows end inside a sample.
inline void add_scale_examples(std::string_view op, std::vector<Example>& all) {
  for (const Shape& shape : {Shape{5, 13, 17, 37}, Shape{3, 29, 31, 10}, Shape{7, 8, 8, 72}}) {
    if (op == "scale_channels") all.push_back({{plain(shape), plain({shape[0], shape[3]})}, {}});
    if (op == "scale_channels_grad") all.push_back({{plain(shape), plain(shape)}, {}});
  }
}

struct ConvExample {
  Shape x;
  std::int64_t outs, norm_groups;
};

// Maps large enough for the Winograd kernels: odd and even sizes, whole vectors and pairs and others, norms of both
// kinds.
inline const std::array kConvExamples = {ConvExample{{4, 57, 55, 16}, 32, 0}, ConvExample{{7, 33, 46, 33}, 33, 3}};
// Matrix registers may have to be emulated: whole registers and others, more than one row of them and fewer.
inline const std::array kMatrixExamples = {ConvExample{{2, 9, 34, 32}, 48, 0}, ConvExample{{3, 7, 11, 33}, 21, 3}};

inline void add_conv_examples(std::string_view op, std::span<const ConvExample> examples, std::vector<Example>& all) {
  if (op.find("conv2d") == std::string_view::npos) return;
  const bool is_norm = op.starts_with("norm_"), updates = op.ends_with("update_weight");
  const bool adds = op.ends_with("add_grad_weight") || updates;
  for (const ConvExample& e : examples) {
    const Type x = plain(e.x), y = plain({e.x[0], e.x[1], e.x[2], e.outs}), w = plain({3, 3, e.x[3], e.outs});
    const Type channel = plain({e.x[3]}), statistic = e.norm_groups == 0 ? channel : plain({e.x[0], e.norm_groups});
    Attributes attributes = {{"padding", std::int64_t{1}}};
    std::vector<Type> in = {x};
    if (is_norm) {
      in.insert(in.end(), {statistic, statistic, channel, channel});
      attributes.set("norm_groups", e.norm_groups);
      attributes.set("norm_activation", std::string(e.norm_groups == 0 ? "relu" : "relu6"));
    }
    if (op.ends_with("conv2d")) {
      in.insert(in.end(), {w, plain({e.outs})});
      attributes.set("activation", std::string(e.norm_groups == 0 ? "none" : "relu"));
      if (e.norm_groups == 0) attributes.set("moments_eps", 1e-5);
    } else if (op.ends_with("grad_input")) {
      in = e.norm_groups == 0 ? std::vector<Type>{y, w} : std::vector<Type>{y, w, x};
      attributes.set("height", e.x[1]);
      attributes.set("width", e.x[2]);
    } else {
      in.push_back(y);
      if (adds) in.insert(in.begin(), w);
      if (!adds) attributes.set("kernel_height", std::int64_t{3});
      if (!adds) attributes.set("kernel_width", std::int64_t{3});
      if (updates) attributes.set("rule", std::string("sgd"));
    }
    all.push_back({in, attributes});
  }
}

// Ops whose first example, made long, is as good as any: every input has one shape.
inline bool is_elementwise(const OpDef& op) {
  for (const std::string_view name : {"relu",
                                      "relu_grad",
                                      "add",
                                      "cast",
                                      "sign_bits",
                                      "dropout",
                                      "accumulate",
                                      "sgd_update",
                                      "momentum_update",
                                      "nesterov_update",
                                      "adamw_update",
                                      "momentum_open",
                                      "momentum_close",
                                      "flatten",
                                      "relu6",
                                      "relu6_grad",
                                      "sigmoid",
                                      "sigmoid_grad",
                                      "silu",
                                      "silu_grad",
                                      "hard_swish",
                                      "hard_swish_grad",
                                      "multiply",
                                      "euclidean_norm"}) {
    if (op.name == name) return true;
  }
  return false;
}

// Weights that are summed in several turns: whole panels and vectors, and others.
inline void add_weight_update_examples(std::string_view op, std::vector<Example>& all) {
  if (op == "linear_update_weight") {
    const Type w = plain({700, 131});
    all.push_back({{w, w, plain({3, 700}), plain({3, 131})}, {{"rule", std::string("nesterov")}}});
  }
  if (op == "conv2d_update_weight") {
    const Type w = plain({3, 3, 90, 150});
    all.push_back({{w, plain({1, 3, 3, 90}), plain({1, 3, 3, 150})},
                   {{"rule", std::string("sgd")}, {"padding", std::int64_t{1}}}});
  }
}

inline std::vector<Example> large_examples(const OpDef& op) {
  std::vector<Example> all;
  if (is_elementwise(op)) {
    Example example = op.examples().front();
    for (Type& type : example.in) type.shape = {5, 41, 97};
    all.push_back(example);
  }
  if (op.name == "relu_grad_bits") all.push_back({{{DType::u8, {(20011 + 7) / 8}}, plain({20011})}, {}});
  if (op.name == "channel_sum") all.push_back({{plain({31, 17, 37})}, {}});
  if (op.name.starts_with("softmax")) all.push_back({{plain({500, 37}), {DType::i32, {500}}}, {{"smoothing", 0.1}}});
  add_norm_examples(op.name, all);
  add_pool_examples(op.name, all);
  add_move_examples(op.name, all);
  add_resize_examples(op.name, all);
  add_sparse_examples(op.name, all);
  add_scale_examples(op.name, all);
  add_weight_update_examples(op.name, all);
  return all;
}

// `special` is what only kernels for special cases are tested on: the references take long over it.
inline std::vector<OpCase> kernel_cases(const OpDef& op, std::span<const ConvExample> special = {}) {
  std::vector<Example> examples = special.empty() ? large_examples(op) : std::vector<Example>();
  add_conv_examples(op.name, special, examples);
  std::vector<OpCase> cases = cases_of(op);
  for (const Example& example : examples)
    cases.push_back({&op, example.in, complete_attributes(op, example.attributes)});
  return cases;
}

// Every choice of bf16 among the floating inputs, and as the attribute dtype, that the op takes; f32 throughout comes
// first. Where there are many inputs: all or none.
inline std::vector<OpCase> dtype_variants(const OpCase& c) {
  std::vector<std::size_t> floating;
  for (std::size_t k = 0; k < c.in.size(); ++k) {
    if (is_floating(c.in[k].dtype)) floating.push_back(k);
  }
  std::vector<OpCase> variants;
  constexpr std::size_t kMany = 8;
  const bool is_free = floating.size() <= kMany;
  const std::size_t choices = is_free ? std::size_t{1} << floating.size() : 2;
  for (std::size_t choice = 0; choice < choices; ++choice) {
    OpCase variant = c;
    for (std::size_t k = 0; k < floating.size(); ++k) {
      if (((choice >> (is_free ? k : 0)) & 1) != 0) variant.in[floating[k]].dtype = DType::bf16;
    }
    if (!is_accepted(variant)) continue;
    variants.push_back(variant);
    if (!has_attribute(*c.op, "dtype")) continue;
    variant.attributes.set("dtype", std::string("bf16"));
    if (is_accepted(variant)) variants.push_back(variant);
  }
  return variants;
}

inline std::int64_t set_bits(const Tensor& mask) {
  std::int64_t count = 0;
  for (const std::byte byte : mask.bytes) count += std::popcount(std::to_integer<unsigned>(byte));
  return count;
}

// Gives the slot as many elements as the mask has bits, inside a pool that holds other slots too.
inline void match_table_to_mask(const OpCase& c, std::vector<Tensor>& in) {
  const auto table = std::find_if(in.begin(), in.end(), [](const Tensor& t) { return t.type.dtype == DType::i32; });
  Tensor& mask = *(table - 1);
  const bool has_dense = table + 1 != in.end() && (table + 1)->type.layout == Layout::dense;
  const std::int64_t count = has_dense ? (table + 1)->count() : mask.count() * 8;
  const auto last = mask.count() - 1;
  if (count % 8 != 0) mask.set(last, static_cast<double>(static_cast<int>(mask.at(last)) & ((1 << count % 8) - 1)));
  const std::int64_t slot = c.attributes.integer("slot"), slots = table->count() - 1;
  const std::int64_t others = (in[0].count() - set_bits(mask)) / slots;
  for (std::int64_t s = 0; s <= slots; ++s) {
    table->set(s, static_cast<double>(s <= slot ? s * others : (s - 1) * others + set_bits(mask)));
  }
}

inline std::vector<Tensor> kernel_inputs(const OpCase& c, std::uint64_t seed) {
  std::vector<Tensor> in = usable_inputs(c, seed);
  if (c.in[0].layout == Layout::pooled || c.op->name == "sparse_norm") match_table_to_mask(c, in);
  if (c.op->name == "max_pool_grad") {
    const auto taps = static_cast<std::uint64_t>(c.attributes.integer("kernel") * c.attributes.integer("kernel"));
    const RandomKey key = random_key(seed, RandomPurpose::test, 99);
    for (std::int64_t i = 0; i < in[1].count(); ++i) {
      in[1].set(i, static_cast<double>(random_below(key, static_cast<std::uint64_t>(i), taps)));
    }
  }
  return in;
}

}  // namespace thimble::testing
