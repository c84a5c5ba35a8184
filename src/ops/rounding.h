// How updates and accumulations round what they write. Stochastic rounding concerns bf16 only: there a small step would
// otherwise be lost for ever. Its bits are a pure function of seed, the node's key, element, iteration and microbatch,
// so a resumed run draws the same ones.
#pragma once

#include "base/random.h"
#include "ops/check.h"

namespace thimble::ops {

struct Rounding {
  bool is_stochastic = false;
  RandomKey key;
  std::uint64_t turn = 0;
};

inline void require_rounding(std::string_view op, const OpQuery& q) {
  const std::string& rounding = q.word("rounding");
  require(rounding == "nearest" || rounding == "stochastic", op, ": attribute 'rounding' is '", rounding,
          "', wanted nearest or stochastic");
}

// For ops with the attributes 'rounding' and 'key'.
inline Rounding rounding_of(const OpQuery& q, const RunScalars& scalars) {
  if (q.word("rounding") != "stochastic") return {};
  const auto stream = static_cast<std::uint64_t>(q.integer("key"));
  return {true, random_key(scalars.seed, RandomPurpose::rounding, stream), scalars.turn()};
}

// Writes view[place]. `element` and `output` choose the random bits: the element's index in the dense tensor (a sparse
// element keeps its own wherever the pool moves it) and which output of the op is written.
inline void store_rounded(const TensorView& view, std::int64_t place, double value, const Rounding& rounding,
                          std::int64_t element, int output) noexcept {
  if (!rounding.is_stochastic || view.dtype != DType::bf16) {
    store(view, place, value);
    return;
  }
  const auto counter = static_cast<std::uint64_t>(element) * 4 + static_cast<std::uint64_t>(output);
  const std::uint32_t bits = random_bits(rounding.key, counter, rounding.turn)[0];
  view.as<BFloat16>()[place] = to_bfloat16_stochastic(static_cast<float>(value), bits);
}

}  // namespace thimble::ops
