// Our half of bench/optimum: small training steps of four families, each with its costs, bytes and dependencies, in the
// order that every schedule keeps, and the front that our search finds. One line of JSON an instance.
#include <cstdio>
#include <functional>

#include "base/error.h"
#include "compile/recipe.h"
#include "formats/json_text.h"
#include "grad/differentiate.h"
#include "models/network.h"
#include "ops/table.h"
#include "search/evaluate.h"
#include "search/front.h"

namespace thimble {
namespace {

constexpr Bytes kAligned = 64;
constexpr std::int64_t kSamples = 8;

struct Problem {
  std::string family;
  int size = 0;
  std::function<ValueId(Network&, ValueId)> body;
};

std::string numbered(const char* name, int k) { return name + std::to_string(k); }

ValueId layer(Network& net, ValueId x, const std::string& name, std::int64_t channels, std::int64_t kernel = 3) {
  return net.relu(net.conv(x, name, {.channels = channels, .kernel = kernel, .padding = kernel / 2}), name + ".relu");
}

// Layers of one width, of falling or of mixed widths; kernels of one and of three.
std::vector<Problem> chains() {
  std::vector<Problem> instances;
  for (const int size : {5, 6, 7, 8, 9, 10, 12}) {
    instances.push_back({"chain", size, [size](Network& net, ValueId x) {
                           for (int k = 0; k < size; ++k) x = layer(net, x, numbered("c", k), 16);
                           return x;
                         }});
  }
  for (const int size : {6, 8, 9, 10, 11}) {
    instances.push_back({"mixed chain", size, [size](Network& net, ValueId x) {
                           constexpr std::int64_t kWidths[] = {32, 8, 24, 16, 48};
                           for (int k = 0; k < size; ++k)
                             x = layer(net, x, numbered("c", k), kWidths[k % 5], k % 3 == 1 ? 1 : 3);
                           return x;
                         }});
  }
  return instances;
}

std::vector<Problem> residuals() {
  std::vector<Problem> instances;
  for (const int blocks : {1, 2, 3, 4}) {
    instances.push_back({"residual", blocks, [blocks](Network& net, ValueId x) {
                           x = layer(net, x, "stem", 16);
                           for (int b = 0; b < blocks; ++b) {
                             const ValueId a = layer(net, x, numbered("a", b), 16);
                             const ValueId c = net.conv(a, numbered("b", b), {.channels = 16});
                             x = net.relu(net.add(c, x, numbered("sum", b)), numbered("out", b));
                           }
                           return x;
                         }});
    instances.push_back({"bottleneck", blocks, [blocks](Network& net, ValueId x) {
                           x = layer(net, x, "stem", 32, 1);
                           for (int b = 0; b < blocks && b < 3; ++b) {
                             const ValueId a = layer(net, x, numbered("a", b), 8, 1);
                             const ValueId c = layer(net, a, numbered("b", b), 8);
                             const ValueId d =
                                 net.conv(c, numbered("c", b), {.channels = 32, .kernel = 1, .padding = 0});
                             x = net.relu(net.add(d, x, numbered("sum", b)), numbered("out", b));
                           }
                           return blocks < 4 ? x : layer(net, x, "last", 16);
                         }});
    instances.push_back({"normed residual", blocks, [blocks](Network& net, ValueId x) {
                           x = net.conv(x, "stem", {.channels = 16});
                           for (int b = 0; b < blocks && b < 2; ++b) {
                             const ValueId n =
                                 net.relu(net.norm(x, numbered("n", b), Network::Norm::group), numbered("r", b));
                             const ValueId c = net.conv(n, numbered("c", b), {.channels = 16});
                             x = net.add(c, x, numbered("sum", b));
                           }
                           return blocks < 3 ? x : layer(net, x, "last", blocks == 3 ? 16 : 32);
                         }});
  }
  return instances;
}

// A norm in front of the sum, as networks for photographs have it; the last ones with a projected shortcut.
std::vector<Problem> normed_sums() {
  std::vector<Problem> instances;
  for (const int size : {1, 2, 3, 4, 5, 6}) {
    instances.push_back({"normed sum", size, [size](Network& net, ValueId x) {
                           const auto normed = [&](ValueId from, const std::string& name, std::int64_t channels) {
                             const ValueId made =
                                 net.conv(from, name, {.channels = channels, .kernel = 1, .padding = 0});
                             return net.norm(made, name + ".n", Network::Norm::group);
                           };
                           const int blocks = (size + 1) / 2;
                           x = net.relu(normed(x, "stem", 16), "stem.out");
                           for (int b = 0; b < blocks; ++b) {
                             const bool is_projected = size % 2 == 0 && b + 1 == blocks;
                             const std::int64_t channels = is_projected ? 32 : 16;
                             const ValueId a = net.relu(normed(x, numbered("a", b), 8), numbered("r", b));
                             const ValueId c = normed(a, numbered("b", b), channels);
                             const ValueId shortcut = is_projected ? normed(x, numbered("p", b), channels) : x;
                             x = net.relu(net.add(c, shortcut, numbered("sum", b)), numbered("out", b));
                           }
                           return x;
                         }});
  }
  return instances;
}

// Every layer reads the sum of all before it.
std::vector<Problem> denses() {
  std::vector<Problem> instances;
  for (const int size : {3, 4, 5, 6}) {
    for (const std::int64_t kernel : {1, 3}) {
      instances.push_back({kernel == 1 ? "dense" : "dense 3x3", size, [size, kernel](Network& net, ValueId x) {
                             ValueId sum = layer(net, x, "stem", 16);
                             for (int k = 0; k < size; ++k) {
                               const ValueId made = layer(net, sum, numbered("c", k), 16, kernel);
                               sum = net.add(sum, made, numbered("sum", k));
                             }
                             return sum;
                           }});
    }
  }
  return instances;
}

// Down, across and up again; each level of the way up adds what the way down left there.
std::vector<Problem> unets() {
  std::vector<Problem> instances;
  for (const int depth : {2, 3, 4}) {
    for (const int per_level : {1, 2}) {
      if (depth * per_level > 5) continue;
      for (const std::int64_t width : {8, 16}) {
        instances.push_back({"u-shape", depth * 10 + per_level, [=](Network& net, ValueId x) {
                               std::vector<ValueId> left;
                               for (int d = 0; d < depth; ++d) {
                                 for (int k = 0; k < per_level; ++k)
                                   x = layer(net, x, "down" + numbered("", d) + numbered(".", k), width << d);
                                 left.push_back(x);
                               }
                               x = layer(net, x, "bottom", width << depth);
                               for (int d = depth - 1; d >= 0; --d) {
                                 x = net.conv(x, numbered("up", d), {.channels = width << d});
                                 x = net.relu(net.add(x, left[static_cast<std::size_t>(d)], numbered("join", d)),
                                              numbered("joined", d));
                               }
                               return x;
                             }});
      }
    }
  }
  return instances;
}

Selected select_instance(const Problem& instance) {
  ModelSpec spec{.name = "instance", .samples = kSamples, .sample = {16, 16, 8}, .classes = 10};
  Network net(spec, op_table());
  const ValueId top = instance.body(net, net.images());
  Graph graph = net.finish(net.linear(net.global_pool(top, "pool"), "fc", spec.classes)).graph;
  run_passes(graph, forward_recipe(), {}, {});
  Training training = differentiate(graph, {.samples = kSamples}, {});
  run_passes(training.graph, training_recipe(), {}, {});
  return select_kernels(std::move(training), cpu_kernels(),
                        {.target = {Isa::avx2, 1}, .use_references = false, .cost = {}});
}

template <typename Items, typename Write>
std::string list_of(const Items& items, Write&& write) {
  std::string text = "[";
  for (const auto& item : items) text += (text.size() > 1 ? "," : "") + write(item);
  return text + "]";
}

std::string ids(const std::vector<ValueId>& values) {
  return list_of(values, [](ValueId v) { return std::to_string(v.index); });
}

std::string value_json(const Scheduler& scheduler, ValueId id) {
  const Value& value = scheduler.selected().graph().value(id);
  const auto& candidates = scheduler.candidates();
  JsonObject json;
  json.text("name", value.name);
  json.integer("bytes", is_persistent(value.role) ? 0 : round_up(value.type.bytes(), kAligned));
  json.boolean("persistent", is_persistent(value.role));
  json.boolean("source", !value.producer.is_valid());
  json.boolean("candidate", std::find(candidates.begin(), candidates.end(), id) != candidates.end());
  return json.to_string();
}

std::string node_json(const Selected& selected, NodeId id) {
  const Node& node = selected.graph().node(id);
  ensure(!node.op->is_view && !node.op->never_kept, "an instance has views or packed values");
  JsonObject json;
  json.text("op", node.op->name);
  json.number("seconds", selected.choice(id).seconds);
  json.integer("workspace", round_up(selected.choice(id).workspace, kAligned));
  json.boolean("update", node.op->is_update);
  json.raw("inputs", ids(node.inputs));
  json.raw("outputs", ids(node.outputs));
  std::vector<InPlacePair> pairs(node.op->in_place.begin(), node.op->in_place.end());
  std::erase_if(pairs, [&](const InPlacePair& pair) {  // this use may have no such operand
    return pair.output >= static_cast<int>(node.outputs.size()) || pair.input >= static_cast<int>(node.inputs.size());
  });
  json.raw("in_place", list_of(pairs, [](const InPlacePair& pair) {
             return "[" + std::to_string(pair.output) + "," + std::to_string(pair.input) + "]";
           }));
  return json.to_string();
}

void write(const Problem& instance) {
  const Selected selected = select_instance(instance);
  const Scheduler scheduler(selected);
  std::vector<ValueId> values;
  for (ValueId id{0}; id.index < selected.graph().value_count(); ++id.index) values.push_back(id);
  JsonObject json;
  json.text("family", instance.family);
  json.integer("size", instance.size);
  json.integer("forward", scheduler.forward_count());
  json.raw("values", list_of(values, [&](ValueId id) { return value_json(scheduler, id); }));
  json.raw("nodes", list_of(scheduler.order(), [&](NodeId id) { return node_json(selected, id); }));
  json.raw("front", list_of(search_front(scheduler, {}), [](const FrontPoint& point) {
             return JsonObject()
                 .integer("bytes", point.live_bytes)
                 .number("seconds", point.seconds)
                 .text("strategy", point.strategy)
                 .to_string();
           }));
  std::printf("%s\n", json.to_string().c_str());
}

}  // namespace
}  // namespace thimble

int main() {
  using namespace thimble;
  for (const auto& family : {chains, residuals, normed_sums, denses, unets}) {
    for (const Problem& instance : family()) write(instance);
  }
  return 0;
}
