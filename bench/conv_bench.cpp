// Speed of the convolution kernels on the layers of a network, beside oneDNN on the same shapes in the same run:
// GFLOP/s of all three directions, median of interleaved pairs.
//   conv_bench [wrn28-2|wrn28-10|resnet18] [batch] [threads] [pairs] [f32|bf16] [avx2|avx512|avx512_bf16|amx_bf16]
// oneDNN runs f32 always, with weights in the layout it likes best; what it costs to reorder them is not counted.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include "base/random.h"
#include "ir/op_def.h"
#include "kernels/kernel.h"
#include "ops/table.h"

namespace thimble {
namespace {

struct Layer {
  std::int64_t size, channels, outs, kernel, stride, padding;
  int uses;  // in one network

  std::int64_t out_size() const { return (size + 2 * padding - kernel) / stride + 1; }
  double flops(std::int64_t batch) const {
    return 2.0 * static_cast<double>(batch * out_size() * out_size() * kernel * kernel * channels * outs);
  }
};

std::vector<Layer> wide_resnet(std::int64_t width) {
  const std::int64_t a = 16 * width, b = 32 * width, c = 64 * width;
  return {{32, 3, 16, 3, 1, 1, 1}, {32, 16, a, 3, 1, 1, 1}, {32, 16, a, 1, 1, 0, 1}, {32, a, a, 3, 1, 1, 7},
          {32, a, b, 3, 2, 1, 1},  {32, a, b, 1, 2, 0, 1},  {16, b, b, 3, 1, 1, 7},  {16, b, c, 3, 2, 1, 1},
          {16, b, c, 1, 2, 0, 1},  {8, c, c, 3, 1, 1, 7}};
}

std::vector<Layer> resnet18() {
  return {{224, 3, 64, 7, 2, 3, 1},   {56, 64, 64, 3, 1, 1, 4},   {56, 64, 128, 3, 2, 1, 1},
          {56, 64, 128, 1, 2, 0, 1},  {28, 128, 128, 3, 1, 1, 3}, {28, 128, 256, 3, 2, 1, 1},
          {28, 128, 256, 1, 2, 0, 1}, {14, 256, 256, 3, 1, 1, 3}, {14, 256, 512, 3, 2, 1, 1},
          {14, 256, 512, 1, 2, 0, 1}, {7, 512, 512, 3, 1, 1, 3}};
}

using Task = std::function<void()>;

std::vector<std::byte> random_bytes(const Type& type) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(type.bytes()) + 64);
  const TensorView view = {bytes.data(), type.dtype, type.shape};
  for (std::int64_t i = 0; i < type.shape.count(); ++i) {
    store(view, i, static_cast<double>(random_uniform({1, 2}, static_cast<std::uint64_t>(i))) - 0.5);
  }
  return bytes;
}

// Our kernel for one op, ready to run on memory of its own.
struct OurRun {
  std::vector<Type> in, out;
  Attributes attributes;
  std::vector<std::vector<std::byte>> memory;
  std::vector<TensorView> views;
  std::vector<std::byte> workspace;
  const Kernel* kernel = nullptr;
  std::unique_ptr<KernelState> state;
  RunScalars scalars;
  int threads = 1;

  OurRun(const char* op_name, std::vector<Type> types, const Attributes& given, int thread_count, Isa isa)
      : in(std::move(types)), threads(thread_count) {
    const OpDef& op = *find_op(op_table(), op_name);
    attributes = complete_attributes(op, given);
    out = op.infer({in, {}, &attributes});
    for (const Type& type : in) memory.push_back(random_bytes(type));
    memory.push_back(random_bytes(out[0]));
    for (std::size_t k = 0; k < in.size(); ++k) views.push_back({memory[k].data(), in[k].dtype, in[k].shape});
    views.push_back({memory.back().data(), out[0].dtype, out[0].shape});
    const KernelQuery query = {in, out, &attributes, threads};
    for (const Kernel* candidate : cpu_kernels()) {
      if (candidate->op != op_name || !thimble::includes(isa, candidate->isa) || !candidate->refuse(query).empty())
        continue;
      if (kernel == nullptr || candidate->rank > kernel->rank) kernel = candidate;
    }
    workspace.resize(static_cast<std::size_t>(kernel->workspace(query)) + 64);
    state = kernel->prepare(query);
  }

  void operator()() const {
    const auto address = reinterpret_cast<std::uintptr_t>(workspace.data());
    auto* aligned = reinterpret_cast<std::byte*>((address + 63) / 64 * 64);
    const std::span<const TensorView> all = views;
    kernel->run(*state, {all.first(in.size()), all.subspan(in.size()), aligned, &scalars, threads});
  }
};

// oneDNN's primitive for one direction.
struct TheirRun {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive primitive;
  std::unordered_map<int, dnnl::memory> arguments;
  std::string name;

  enum class Direction { forward, grad_input, grad_weight };

  TheirRun(Direction direction, const Layer& layer, std::int64_t batch) {
    using dnnl::memory;
    using tag = memory::format_tag;
    const auto f32 = memory::data_type::f32;
    const memory::desc x({batch, layer.channels, layer.size, layer.size}, f32, tag::nhwc);
    const memory::desc w({layer.outs, layer.channels, layer.kernel, layer.kernel}, f32, tag::any);
    const memory::desc y({batch, layer.outs, layer.out_size(), layer.out_size()}, f32, tag::nhwc);
    const memory::dims strides = {layer.stride, layer.stride}, padding = {layer.padding, layer.padding};
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const dnnl::convolution_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, algorithm, x, w, y, strides, padding, padding}, engine);
    if (direction == Direction::forward) {
      set(dnnl::convolution_forward(forward), forward.impl_info_str(),
          {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, forward.weights_desc()}, {DNNL_ARG_DST, y}});
    } else if (direction == Direction::grad_input) {
      const dnnl::convolution_backward_data::primitive_desc backward({algorithm, x, w, y, strides, padding, padding},
                                                                     engine, forward);
      set(dnnl::convolution_backward_data(backward), backward.impl_info_str(),
          {{DNNL_ARG_DIFF_SRC, x}, {DNNL_ARG_WEIGHTS, backward.weights_desc()}, {DNNL_ARG_DIFF_DST, y}});
    } else {
      const dnnl::convolution_backward_weights::primitive_desc backward({algorithm, x, w, y, strides, padding, padding},
                                                                        engine, forward);
      set(dnnl::convolution_backward_weights(backward), backward.impl_info_str(),
          {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_WEIGHTS, backward.diff_weights_desc()}, {DNNL_ARG_DIFF_DST, y}});
    }
  }

  void set(dnnl::primitive made, const char* made_name,
           const std::unordered_map<int, dnnl::memory::desc>& descriptions) {
    primitive = std::move(made);
    name = made_name;
    for (const auto& [argument, description] : descriptions) {
      dnnl::memory memory(description, engine);
      auto* data = static_cast<float*>(memory.get_data_handle());
      for (std::size_t i = 0; i < description.get_size() / 4; ++i) data[i] = random_uniform({3, 4}, i) - 0.5F;
      arguments.insert({argument, memory});
    }
  }

  void operator()() {
    primitive.execute(stream, arguments);
    stream.wait();
  }
};

double seconds_of(const Task& task, int repeats) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) task();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repeats;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

struct Pair {
  double ours = 0, theirs = 0;  // seconds
};

Pair measure(const Task& ours, const Task& theirs, int pairs) {
  ours();
  theirs();
  const int repeats = std::max(1, static_cast<int>(0.004 / seconds_of(ours, 1)));
  std::vector<double> our_times, their_times;
  for (int i = 0; i < pairs; ++i) {
    our_times.push_back(seconds_of(ours, repeats));
    their_times.push_back(seconds_of(theirs, repeats));
  }
  return {median(our_times), median(their_times)};
}

struct Options {
  std::string network = "wrn28-2";
  std::int64_t batch = 100;
  int threads = 2, pairs = 11;
  DType dtype = DType::f32;
  Isa isa = detect_isa();
};

Pair measure_direction(const Layer& layer, const Options& o, TheirRun::Direction direction, std::string* name) {
  const Type x = {o.dtype, {o.batch, layer.size, layer.size, layer.channels}};
  const Type w = {o.dtype, {layer.kernel, layer.kernel, layer.channels, layer.outs}};
  const Type y = {o.dtype, {o.batch, layer.out_size(), layer.out_size(), layer.outs}};
  Attributes attributes = {{"stride", layer.stride}, {"padding", layer.padding}};
  const char* op = "conv2d";
  std::vector<Type> in = {x, w};
  if (direction == TheirRun::Direction::grad_input) {
    op = "conv2d_grad_input";
    in = {y, w};
    attributes.set("height", layer.size);
    attributes.set("width", layer.size);
  } else if (direction == TheirRun::Direction::grad_weight) {
    op = "conv2d_grad_weight";
    in = {x, y};
    attributes.set("kernel_height", layer.kernel);
    attributes.set("kernel_width", layer.kernel);
    attributes.set("dtype", std::string(name_of(o.dtype)));
  }
  const OurRun ours(op, in, attributes, o.threads, o.isa);
  TheirRun theirs(direction, layer, o.batch);
  *name = theirs.name;
  return measure([&] { ours(); }, [&] { theirs(); }, o.pairs);
}

void run(const Options& o) {
  using enum TheirRun::Direction;
  const std::vector<Layer> layers = o.network == "resnet18"   ? resnet18()
                                    : o.network == "wrn28-10" ? wide_resnet(10)
                                                              : wide_resnet(2);
  std::printf("%s batch %lld, %d threads, %s, %s; GFLOP/s ours / oneDNN = ratio\n", o.network.c_str(),
              static_cast<long long>(o.batch), o.threads, std::string(name_of(o.dtype)).c_str(),
              std::string(name_of(o.isa)).c_str());
  std::printf("%-22s %-24s %-24s %-24s\n", "layer", "forward", "grad_input", "grad_weight");
  Pair totals[3];
  for (const Layer& layer : layers) {
    std::printf("%3lldx%-3lld %3lld>%-3lld %lldx%lld/%lld", static_cast<long long>(layer.size),
                static_cast<long long>(layer.size), static_cast<long long>(layer.channels),
                static_cast<long long>(layer.outs), static_cast<long long>(layer.kernel),
                static_cast<long long>(layer.kernel), static_cast<long long>(layer.stride));
    for (const auto direction : {forward, grad_input, grad_weight}) {
      std::string name;
      const Pair pair = measure_direction(layer, o, direction, &name);
      const double work = layer.flops(o.batch) / 1e9;
      std::printf("   %6.1f /%6.1f = %4.2f %s", work / pair.ours, work / pair.theirs, pair.theirs / pair.ours,
                  name.find("ref") != std::string::npos ? "(ref)" : "");
      std::fflush(stdout);
      Pair& total = totals[static_cast<int>(direction)];
      total.ours += layer.uses * pair.ours;
      total.theirs += layer.uses * pair.theirs;
    }
    std::printf("\n");
  }
  std::printf("network, ms           ");
  for (const Pair& total : totals) {
    std::printf("   %6.1f /%6.1f = %4.2f ", total.ours * 1e3, total.theirs * 1e3, total.theirs / total.ours);
  }
  std::printf("\n");
}

}  // namespace
}  // namespace thimble

int main(int argc, char** argv) {
  thimble::Options options;
  if (argc > 1) options.network = argv[1];
  if (argc > 2) options.batch = std::atoll(argv[2]);
  if (argc > 3) options.threads = std::atoi(argv[3]);
  if (argc > 4) options.pairs = std::atoi(argv[4]);
  if (argc > 5) options.dtype = thimble::dtype_from_name(argv[5]).value_or(thimble::DType::f32);
  if (argc > 6) options.isa = thimble::isa_from_name(argv[6]).value_or(thimble::detect_isa());
  omp_set_num_threads(options.threads);
  thimble::run(options);
}
