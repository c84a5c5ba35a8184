// Runs every kernel of an op that this machine can run against the op's reference, at one to three threads, on memory
// that would betray a careless kernel: odd addresses, guarded ends, outputs and workspace full of NaN.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/isa.h"
#include "base/random.h"
#include "ir/op_def.h"
#include "kernels/kernel.h"
#include "kernels/support/kernel_lookup.h"
#include "kernels/support/matrix_emulator.h"
#include "kernels/support/pair_products.h"
#include "ops/table.h"

namespace thimble {

constexpr DType kStored[] = {DType::f32, DType::bf16};  // what operands may be

// Bytes between two guards. The data begins `shift` bytes after a 64-byte boundary.
class GuardedBytes {
 public:
  GuardedBytes(Bytes size, Bytes shift) : size_(size), memory_(static_cast<std::size_t>(size + 4 * kGuard), kCanary) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data()) + kGuard;
    begin_ = kGuard + static_cast<Bytes>((64 - address % 64) % 64) + shift;
    refill();
  }

  std::byte* data() { return memory_.data() + begin_; }
  void refill() { std::fill_n(data(), size_, std::byte{0xff}); }  // NaN in every floating type
  bool is_intact() const {
    const auto data_begin = memory_.begin() + begin_, data_end = data_begin + size_;
    const auto is_canary = [](std::byte b) { return b == kCanary; };
    return std::all_of(memory_.begin(), data_begin, is_canary) && std::all_of(data_end, memory_.end(), is_canary);
  }
  std::vector<std::byte> copy() { return {data(), data() + size_}; }

 private:
  static constexpr Bytes kGuard = 256;
  static constexpr std::byte kCanary{0x5a};
  Bytes size_ = 0, begin_ = 0;
  std::vector<std::byte> memory_;
};

// One use of an op: inputs filled with random numbers, the reference's answer.
class ProductCheck {
 public:
  ProductCheck(std::string_view op, std::vector<Type> in, const Attributes& given)
      : op_(*find_op(op_table(), op)), in_(std::move(in)) {
    attributes_ = complete_attributes(op_, given);
    out_ = op_.infer({in_, {}, &attributes_});
    for (std::size_t k = 0; k < in_.size(); ++k) {
      in_memory_.emplace_back(in_[k].bytes(), bytes_of(in_[k].dtype));
      in_views_.push_back({in_memory_.back().data(), in_[k].dtype, in_[k].shape});
      fill(in_views_.back(), k);
    }
    // The reference answers in f32 where the kernel rounds to bf16, so that rounding is judged too.
    wanted_.resize(static_cast<std::size_t>(out_[0].shape.count()));
    const TensorView wanted = {wanted_.data(), DType::f32, out_[0].shape};
    op_.reference({in_, out_, &attributes_}, {in_views_, {&wanted, 1}, nullptr, &scalars_, 1});
    for (const float value : wanted_) largest_ = std::max(largest_, std::fabs(value));
  }

  void run() {
    int served = 0;
    for (const Kernel* kernel : cpu_kernels()) {
      if (kernel->op != op_.name || !includes(testing::tested_isa(), kernel->isa)) continue;
      if (testing::is_emulated(kernel->isa) && in_[0].shape.count() > kMostEmulated) continue;
      if (testing::has_fallback(*kernel) && !kernel->refuse({in_, out_, &attributes_, 1}).empty()) continue;
      // Kernels that multiply pairs of bf16 leave everything else to the others.
      if (testing::serves_bf16_alone(*kernel) && !kernel->refuse({in_, out_, &attributes_, 1}).empty()) continue;
      for (int threads = 1; threads <= 3; ++threads) {
        const std::string where = join_text(op_.name, to_text(attributes_), " ", to_text(in_[0]), " ", to_text(in_[1]),
                                            " to ", name_of(out_[0].dtype), " by ", kernel->name, " for ",
                                            name_of(kernel->isa), " on ", threads, " threads");
        check(*kernel, threads, where);
      }
      ++served;
    }
    EXPECT_GT(served, 0) << op_.name << " has no kernel for this machine";
  }

 private:
  void fill(const TensorView& view, std::size_t stream) {
    const RandomKey key = random_key(7, RandomPurpose::test, stream);
    for (std::int64_t i = 0; i < view.shape.count(); ++i) {
      store(view, i, static_cast<double>(random_uniform(key, static_cast<std::uint64_t>(i))) - 0.5);
    }
  }

  void check(const Kernel& kernel, int threads, const std::string& where) {
    const KernelQuery query = {in_, out_, &attributes_, threads};
    ASSERT_EQ(kernel.refuse(query), "") << where;
    const Bytes workspace_bytes = kernel.workspace == nullptr ? 0 : kernel.workspace(query);
    GuardedBytes workspace(workspace_bytes, 0), out(out_[0].bytes(), bytes_of(out_[0].dtype));
    const TensorView view = {out.data(), out_[0].dtype, out_[0].shape};
    const Call call = {in_views_, {&view, 1}, workspace.data(), &scalars_, threads};
    const std::unique_ptr<KernelState> state = kernel.prepare(query);
    ASSERT_EQ(kernel.run(*state, call), Status::good) << where;
    EXPECT_TRUE(out.is_intact()) << where << ": wrote outside the output";
    EXPECT_TRUE(workspace.is_intact()) << where << ": wrote outside the workspace";
    expect_near(view, testing::rounds_operands(kernel, in_), where);
    const std::vector<std::byte> once = out.copy();
    out.refill();
    ASSERT_EQ(kernel.run(*state, call), Status::good) << where;
    EXPECT_EQ(out.copy(), once) << where << ": a second run gave other bits";
  }

  // f32 sums lose a little of the largest magnitude; bf16 keeps eight bits of each value.
  void expect_near(const TensorView& view, bool rounds, const std::string& where) {
    const double rounding = view.dtype == DType::bf16 ? 0x1.02p-8 : 0;
    const double sum_tolerance = rounds ? kRoundedTolerance : kSumTolerance;
    for (std::int64_t i = 0; i < view.shape.count(); ++i) {
      const auto wanted = static_cast<double>(wanted_[static_cast<std::size_t>(i)]);
      const double bound = sum_tolerance * static_cast<double>(largest_) + rounding * std::fabs(wanted);
      // Negated so that a NaN fails.
      ASSERT_TRUE(std::fabs(load(view, i) - wanted) <= bound)
          << where << ": element " << i << " is " << load(view, i) << ", wanted " << wanted;
    }
  }

  static constexpr std::int64_t kMostEmulated = 30'000;  // elements of the first operand: each fault takes its time
  static constexpr double kSumTolerance = 4e-6;
  static constexpr double kRoundedTolerance = 0x1.0p-7;  // two factors of each product err by up to 2^-9

  const OpDef& op_;
  std::vector<Type> in_, out_;
  Attributes attributes_;
  std::vector<GuardedBytes> in_memory_;
  std::vector<TensorView> in_views_;
  std::vector<float> wanted_;
  float largest_ = 0;
  RunScalars scalars_{.learning_rate = 1};  // of products that are applied to weights
};

inline void check_products(std::string_view op, std::vector<Type> in, const Attributes& attributes) {
  ProductCheck(op, std::move(in), attributes).run();
}

}  // namespace thimble
