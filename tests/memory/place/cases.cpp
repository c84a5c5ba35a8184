#include "memory/place/cases.h"

#include <algorithm>

#include "base/random.h"

namespace thimble {

namespace {

// Draws in a row from one stream.
class Dice {
 public:
  Dice(std::uint64_t seed, std::uint64_t stream) : key_(random_key(seed, RandomPurpose::test, stream)) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_below(key_, next_++, static_cast<std::uint64_t>(high - low + 1)));
  }
  int step(std::int64_t low, std::int64_t high) { return static_cast<int>(between(low, high)); }
  bool chance(int percent) { return between(0, 99) < percent; }

 private:
  RandomKey key_;
  std::uint64_t next_ = 0;
};

Request request(Bytes bytes, int first_step, int last_step) {
  return {.bytes = bytes, .first_step = first_step, .last_step = last_step};
}

int busiest_step(const std::vector<Request>& requests, int step_count) {
  std::vector<Bytes> live(static_cast<std::size_t>(step_count), 0);
  for (const Request& each : requests) {
    for (int step = each.first_step; step <= each.last_step; ++step) live[static_cast<std::size_t>(step)] += each.bytes;
  }
  return static_cast<int>(std::max_element(live.begin(), live.end()) - live.begin());
}

// Builds forward and backward of a residual network, step by step.
class Network {
 public:
  Network(int block_count, std::uint64_t seed, int dropped_percent)
      : dice_(seed, 7), dropped_percent_(dropped_percent) {
    const Bytes full = dice_.between(1, 100) * 32 * 32 * 16 * 4;
    for (int index = 0; index < block_count; ++index) {
      const int stage = index * 3 / block_count;
      blocks_.push_back({.activation = full >> stage,
                         .weights = Bytes{16 * 16 * 9 * 4} << (2 * stage),
                         .workspace = dice_.chance(40) ? dice_.between(1, 512) * 1024 : 0,
                         .is_dropped = dice_.chance(dropped_percent_),
                         .kept_from = {}});
    }
  }

  std::vector<Request> build() {
    for (Block& block : blocks_) forward(block);
    step_ += 2;  // the loss
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) backward(*block);
    Bytes weights = 0;
    for (const Block& block : blocks_) weights += 2 * block.weights;
    requests_.push_back(request(weights, 0, step_));       // parameters
    requests_.push_back(request(weights, 0, step_));       // momentum
    requests_.push_back(request(weights / 50, 0, step_));  // norm scales
    return requests_;
  }

 private:
  static constexpr int kConvolutions = 2;

  struct Block {
    Bytes activation = 0;
    Bytes weights = 0;
    Bytes workspace = 0;
    bool is_dropped = false;
    int kept_from[kConvolutions + 1] =
        {};  // steps at which the inputs of the convolutions and the block's own input were made
  };

  void transient(Bytes bytes, int length) { requests_.push_back(request(bytes, step_, step_ + length - 1)); }

  // norm, relu, convolution, twice; then the addition. Steps: one an op.
  void forward(Block& block) {
    const int block_first = step_;
    block.kept_from[kConvolutions] = step_;
    for (int index = 0; index < kConvolutions; ++index) {
      transient(block.activation / 1024, 2);  // statistics
      block.kept_from[index] = step_;         // normed and rectified, read by convolution and backward
      if (block.is_dropped) requests_.push_back(request(block.activation, step_, step_ + 1));
      ++step_;
      if (block.workspace > 0) transient(block.workspace, 1);
      transient(block.activation, 2);  // the convolution's output
      ++step_;
    }
    requests_.push_back(request(block.activation, block_first, step_));  // the shortcut
    ++step_;
  }

  void backward(Block& block) {
    const int block_first = step_;
    if (block.is_dropped) {  // made again from the block's input
      for (int index = 0; index < kConvolutions; ++index) {
        block.kept_from[index] = step_++;
        if (block.workspace > 0) transient(block.workspace, 1);
        transient(block.activation, 2);
        ++step_;
      }
    }
    for (int index = kConvolutions - 1; index >= 0; --index) {
      if (block.workspace > 0) transient(block.workspace * 2, 1);
      transient(block.weights, 2);     // gradient, dead after its update
      transient(block.activation, 3);  // gradient of the convolution's input
      ++step_;
      transient(block.activation / 16, 1);
      ++step_;
      requests_.push_back(request(block.activation, block.kept_from[index], step_));
      ++step_;
    }
    requests_.push_back(request(block.activation, block_first, step_));  // gradient of the shortcut
    requests_.push_back(request(block.activation, block.kept_from[kConvolutions], step_));
    ++step_;
  }

  Dice dice_;
  int dropped_percent_;
  std::vector<Block> blocks_;
  std::vector<Request> requests_;
  int step_ = 0;
};

}  // namespace

std::vector<Request> random_case(int count, std::uint64_t seed) {
  Dice dice(seed, 1);
  std::vector<Request> requests;
  for (int index = 0; index < count; ++index) {
    const int first = dice.step(0, 2 * count);
    requests.push_back(
        request(dice.between(1, 1 << dice.between(4, 20)), first, dice.step(first, first + count / 2 + 2)));
  }
  return requests;
}

std::vector<Request> nested_case(int count, std::uint64_t seed) {
  Dice dice(seed, 2);
  std::vector<Request> requests;
  for (int index = 0; index < count; ++index) {
    requests.push_back(request(dice.between(1, 100'000), index, 2 * count - index));
  }
  return requests;
}

std::vector<Request> chain_case(int count, std::uint64_t seed) {
  Dice dice(seed, 3);
  std::vector<Request> requests;
  for (int index = 0; index < count; ++index) {
    requests.push_back(request(dice.between(1, 1'000'000), index, index + dice.step(1, 2)));
  }
  return requests;
}

std::vector<Request> equal_size_case(int count, std::uint64_t seed) {
  std::vector<Request> requests = random_case(count, seed);
  for (Request& each : requests) each.bytes = 4096;
  return requests;
}

std::vector<Request> sparse_case(int count, std::uint64_t seed) {
  std::vector<Request> requests = random_case(count, seed);
  for (std::size_t index = 0; index < requests.size(); index += 3) requests[index].bytes = 0;
  return requests;
}

std::vector<Request> crowded_case(int count, std::uint64_t seed) {
  Dice dice(seed, 4);
  std::vector<Request> requests;
  for (int index = 0; index < count; ++index) {
    const int first = dice.step(0, 5);
    requests.push_back(request(64 * dice.between(1, 12), first, dice.step(first, 6)));
  }
  return requests;
}

std::vector<Request> training_case(int block_count, std::uint64_t seed) {
  return Network(block_count, seed, 0).build();
}

std::vector<Request> budgeted_case(int layer_count, std::uint64_t seed) {
  Dice dice(seed, 6);
  const int step_count = 4 * layer_count;
  const auto backward_step = [&](int layer) { return step_count - 2 * layer - 1; };
  const auto uneven = [&] { return dice.between(1, 16) * dice.between(1, 1 << dice.between(1, 4)) * 4096 + 64; };
  std::vector<Request> requests;
  for (int layer = 0; layer < layer_count; ++layer) {
    requests.push_back(request(uneven(), 2 * layer, backward_step(layer)));
    requests.push_back(request(uneven(), 2 * layer + 1, 2 * layer + dice.step(1, 3)));
    requests.push_back(request(uneven(), backward_step(layer) - 1, backward_step(layer) + dice.step(0, 2)));
    if (dice.chance(30)) requests.push_back(request(uneven(), backward_step(layer), backward_step(layer)));
  }
  for (;;) {
    const int busiest = busiest_step(requests, step_count + 3);
    Request* longest = nullptr;
    for (Request& each : requests) {
      const bool is_idle = each.first_step + 2 < busiest && each.last_step - 2 > busiest;
      if (is_idle && (longest == nullptr || each.bytes > longest->bytes)) longest = &each;
    }
    if (longest == nullptr) return requests;
    const Request again = request(longest->bytes, longest->last_step - dice.step(1, 2), longest->last_step);
    longest->last_step = longest->first_step + dice.step(1, 2);
    requests.push_back(again);
  }
}

std::vector<Request> recompute_case(int block_count, std::uint64_t seed) {
  Dice dice(seed, 5);
  return Network(block_count, seed, dice.step(20, 100)).build();
}

}  // namespace thimble
