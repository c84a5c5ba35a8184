// Ops that only move elements change no bit: not of a signalling NaN, not of a denormal number, not the sign of a zero.
#include <set>

#include "kernels/support/kernel_cases.h"
#include "kernels/support/kernel_lookup.h"

namespace thimble::testing {
namespace {

constexpr std::string_view kMoves[] = {"concat", "slice", "pad", "channel_shuffle", "transpose"};

class MoveBits : public ::testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(All, MoveBits, ::testing::ValuesIn(runnable_isas()),
                         [](const auto& parameter) { return std::string(name_of(parameter.param)); });

// Any bits; one element in four is a signalling NaN, which arithmetic and conversions would make quiet.
Tensor any_bits(const Type& type, std::uint64_t stream) {
  Tensor tensor(type);
  const auto width = static_cast<std::size_t>(bytes_of(type.dtype));
  const RandomKey key = random_key(3, RandomPurpose::test, stream);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    std::uint32_t bits = random_bits(key, static_cast<std::uint64_t>(i), 0)[0];
    if (bits % 4 == 0) bits = (bits & 0x803fffffU) | 0x7f810000U;  // exponent all ones, quiet bit clear
    const std::uint32_t low = type.dtype == DType::bf16 ? bits >> 16 : bits;
    std::memcpy(tensor.bytes.data() + static_cast<std::size_t>(i) * width, &low, width);
  }
  return tensor;
}

std::vector<Tensor> any_inputs(const OpCase& c) {
  std::vector<Tensor> in;
  for (std::size_t k = 0; k < c.in.size(); ++k) in.push_back(any_bits(c.in[k], k));
  return in;
}

// Calls body(case, inputs) for all examples of an op, large ones too, in f32 and in bf16.
template <typename Body>
void for_cases(std::string_view op, Body&& body) {
  for (const OpCase& example : kernel_cases(*find_op(op_table(), op))) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const OpCase c = with_dtype(example, dtype, [](const Type&) { return true; });
      SCOPED_TRACE(describe(c));
      body(c, any_inputs(c));
    }
  }
}

TEST_P(MoveBits, KernelsGiveTheBitsOfTheReferenceWithAnyThreads) {
  for (const std::string_view op : kMoves) {
    for_cases(op, [&](const OpCase& c, const std::vector<Tensor>& in) {
      const Tensor want = run_op(*c.op, c.attributes, in, kTestScalars)[0];
      for (const int threads : {1, 2, 3}) {
        EXPECT_TRUE(same_bits(run_by_kernel(op, GetParam(), c.attributes, in, threads)[0], want)) << threads;
      }
    });
  }
}

std::multiset<std::string> elements_of(const std::vector<Tensor>& tensors) {
  std::multiset<std::string> elements;
  for (const Tensor& tensor : tensors) {
    const auto width = static_cast<std::size_t>(bytes_of(tensor.type.dtype));
    for (std::size_t at = 0; at < tensor.bytes.size(); at += width) {
      elements.emplace(reinterpret_cast<const char*>(tensor.bytes.data()) + at, width);
    }
  }
  return elements;
}

TEST_P(MoveBits, EveryElementArrivesOnce) {
  for (const std::string_view op : {"concat", "channel_shuffle", "transpose"}) {
    for_cases(op, [&](const OpCase& c, const std::vector<Tensor>& in) {
      EXPECT_TRUE(elements_of(run_by_kernel(op, GetParam(), c.attributes, in, 1)) == elements_of(in));
    });
  }
}

}  // namespace
}  // namespace thimble::testing
