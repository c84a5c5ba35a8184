// An op's examples made concrete: complete attributes, dtypes varied, inputs filled with numbers that the op can take.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/random.h"
#include "support/interpreter.h"

namespace thimble::testing {

struct OpCase {
  const OpDef* op = nullptr;
  std::vector<Type> in;
  Attributes attributes;  // complete

  OpQuery query() const { return {in, {}, &attributes}; }
  std::vector<Type> out() const { return op->infer(query()); }
};

inline bool has_attribute(const OpDef& op, std::string_view name) {
  return std::any_of(op.attributes.begin(), op.attributes.end(),
                     [&](const AttributeDef& def) { return def.name == name; });
}

inline bool is_accepted(const OpCase& c) {
  try {
    c.out();
    return true;
  } catch (const UserError&) {
    return false;
  }
}

inline std::vector<OpCase> cases_of(const OpDef& op) {
  std::vector<OpCase> cases;
  for (const Example& example : op.examples())
    cases.push_back({&op, example.in, complete_attributes(op, example.attributes)});
  return cases;
}

inline OpCase with_dtype(OpCase c, DType dtype, auto&& is_chosen) {
  for (Type& type : c.in) {
    if (is_floating(type.dtype) && is_chosen(type)) type.dtype = dtype;
  }
  if (has_attribute(*c.op, "dtype")) c.attributes.set("dtype", std::string(name_of(dtype)));
  return c;
}

inline OpCase in_f64(const OpCase& c) {
  return with_dtype(c, DType::f64, [](const Type&) { return true; });
}

// The widest use of bf16 that the op takes: everything, or only what is shaped like an activation (statistics and
// vectors stay f32).
inline std::optional<OpCase> in_bf16(const OpCase& c) {
  const auto floating =
      std::find_if(c.in.begin(), c.in.end(), [](const Type& type) { return is_floating(type.dtype); });
  if (floating == c.in.end()) return std::nullopt;
  const auto any = [](const Type&) { return true; };
  const auto as_first = [&](const Type& type) { return type.shape == floating->shape; };
  for (const OpCase& candidate : {with_dtype(c, DType::bf16, any), with_dtype(c, DType::bf16, as_first)}) {
    if (is_accepted(candidate)) return candidate;
  }
  return std::nullopt;
}

// Uniform in [0.25, 1.25), with random signs if asked: away from zero, where rectifiers have their corner.
enum class Signs { mixed, positive };

inline Tensor random_tensor(const Type& type, RandomKey key, Signs signs) {
  Tensor tensor(type);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const auto bits = random_bits(key, static_cast<std::uint64_t>(i), 0);
    const double magnitude = 0.25 + to_unit_double(bits[0]);
    tensor.set(i, signs == Signs::mixed && (bits[1] & 1) != 0 ? -magnitude : magnitude);
  }
  return tensor;
}

// i32 is a table of slots where there is a pool, else labels; u8 is taps of a pooling window (the middle one is never
// in the padding), else bits.
inline Tensor integer_tensor(const OpCase& c, const Type& type, RandomKey key) {
  Tensor tensor(type);
  const Type& first = c.in[0];
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    if (type.dtype == DType::i32 && first.layout == Layout::pooled) {
      tensor.set(i, static_cast<double>(first.shape.count() * i / (tensor.count() - 1)));
    } else if (type.dtype == DType::i32) {
      tensor.set(i, static_cast<double>(random_below(key, index, static_cast<std::uint64_t>(first.shape.at(-1)))));
    } else if (has_attribute(*c.op, "kernel")) {
      const std::int64_t kernel = c.attributes.integer("kernel");
      tensor.set(i, static_cast<double>((kernel - 1) / 2 * kernel + (kernel - 1) / 2));
    } else {
      tensor.set(i, static_cast<double>(random_below(key, index, 256)));
    }
  }
  return tensor;
}

inline std::vector<Tensor> random_inputs(const OpCase& c, std::uint64_t seed, Signs signs) {
  std::vector<Tensor> in;
  for (std::size_t k = 0; k < c.in.size(); ++k) {
    const RandomKey key = random_key(seed, RandomPurpose::test, k);
    in.push_back(is_floating(c.in[k].dtype) ? random_tensor(c.in[k], key, signs) : integer_tensor(c, c.in[k], key));
  }
  return in;
}

inline bool is_finite(const std::vector<Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
    const std::vector<double> values = tensor.values();
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  });
}

inline constexpr RunScalars kTestScalars{
    .seed = 11, .iteration = 3, .sample_offset = 2, .inverse_batch = 0.125F, .learning_rate = 0.25F};

// Inputs of both signs, or positive ones where the op wants a square root or a variance.
inline std::vector<Tensor> usable_inputs(const OpCase& c, std::uint64_t seed) {
  std::vector<Tensor> in = random_inputs(c, seed, Signs::mixed);
  if (is_finite(run_op(*c.op, c.attributes, in, kTestScalars))) return in;
  return random_inputs(c, seed, Signs::positive);
}

inline std::string describe(const OpCase& c) {
  std::string text(c.op->name);
  for (const Type& type : c.in) text += " " + to_text(type);
  return text + " " + to_text(c.attributes);
}

}  // namespace thimble::testing
