#include "schedule/order.h"

#include <algorithm>
#include <queue>

#include "base/error.h"

namespace thimble {
namespace {

// What runs next of all that is ready: what frees most, or what the graph was given first.
enum class Preference : std::uint8_t { frees_most, given_first };

struct Order {
  std::vector<NodeId> nodes;
  Bytes peak = 0;  // of transient values and workspace while a node runs; nothing is shared in place
};

class ListScheduler {
 public:
  ListScheduler(const Selected& selected, Preference preference)
      : selected_(selected),
        graph_(selected.graph()),
        preference_(preference),
        is_late_(second_pass_nodes(graph_)),
        place_(static_cast<std::size_t>(graph_.node_count()), -1),
        missing_(static_cast<std::size_t>(graph_.node_count()), 0),
        followers_(static_cast<std::size_t>(graph_.node_count())),
        readers_(static_cast<std::size_t>(graph_.value_count())),
        readers_left_(static_cast<std::size_t>(graph_.value_count()), 0) {
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) add_reader(NodeId{n});
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) add_edges(NodeId{n});
  }

  Order run() {
    Order order;
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
      if (missing_[static_cast<std::size_t>(n)] == 0) add_ready(NodeId{n});
    }
    while (!in_turn_.empty() || !weighed_.empty()) {
      const NodeId id = take_next();
      place_[static_cast<std::size_t>(id.index)] = static_cast<std::int32_t>(order.nodes.size());
      order.nodes.push_back(id);
      peak_ = std::max(peak_, live_ + made_by(id));
      live_ += growth(id);
      if (!is_late(id)) {
        for (const ValueId input : graph_.node(id).inputs) --readers_left_[static_cast<std::size_t>(input.index)];
      }
      for (const NodeId follower : followers_[static_cast<std::size_t>(id.index)]) {
        if (--missing_[static_cast<std::size_t>(follower.index)] == 0) add_ready(follower);
      }
    }
    ensure(static_cast<std::int32_t>(order.nodes.size()) == graph_.node_count(),
           "schedule: updates and readers form a cycle");
    order.peak = peak_;
    return order;
  }

 private:
  // What goes before all else in the order of the graph, whatever the rest weighs.
  bool goes_in_turn(NodeId id) const {
    if (is_late(id)) return false;
    if (preference_ == Preference::given_first) return true;
    const Role role = graph_.value(graph_.node(id).outputs[0]).role;
    return role == Role::activation || role == Role::metric || role == Role::statistic;
  }

  void add_ready(NodeId id) { goes_in_turn(id) ? in_turn_.push(id) : weighed_.push_back(id); }

  NodeId take_next() {
    if (!in_turn_.empty()) {
      const NodeId id = in_turn_.top();
      in_turn_.pop();
      return id;
    }
    // Each is weighed once: a key looks at all that a node reads and leads to.
    auto best = weighed_.begin();
    auto least = key(*best);
    for (auto it = best + 1; it != weighed_.end(); ++it) {
      const auto other = key(*it);
      if (other < least) best = it, least = other;
    }
    const NodeId id = *best;
    *best = weighed_.back();
    weighed_.pop_back();
    return id;
  }

  void add_edge(NodeId before, NodeId after) {
    followers_[static_cast<std::size_t>(before.index)].push_back(after);
    ++missing_[static_cast<std::size_t>(after.index)];
  }

  bool is_late(NodeId id) const { return is_late_[static_cast<std::size_t>(id.index)]; }

  // A gradient that waits for the norm of all may be made again, so the order takes it for gone once its own norm is
  // known.
  void add_reader(NodeId id) {
    for (const ValueId input : graph_.node(id).inputs) {
      if (!is_late(id)) ++readers_left_[static_cast<std::size_t>(input.index)];
      std::vector<NodeId>& readers = readers_[static_cast<std::size_t>(input.index)];
      if (readers.empty() || readers.back() != id) readers.push_back(id);
    }
  }

  void add_edges(NodeId id) {
    for (const ValueId input : graph_.node(id).inputs) {
      if (graph_.value(input).producer.is_valid()) add_edge(graph_.value(input).producer, id);
    }
    if (!graph_.node(id).op->is_update) return;
    for (const InPlacePair& pair : graph_.node(id).op->in_place) {
      if (pair.output >= static_cast<int>(graph_.node(id).outputs.size())) continue;
      const ValueId before = graph_.node(id).inputs[static_cast<std::size_t>(pair.input)];
      for (const NodeId reader : readers_[static_cast<std::size_t>(before.index)]) {
        if (reader == id) continue;
        add_edge(reader, id);
        for (const NodeId norm : norms_before(id)) add_edge(reader, norm);
      }
    }
  }

  // What reads the gradients of an update of the second pass in the first one, in the update's place: bound like the
  // update, it gives the first pass the order that suits the second.
  std::vector<NodeId> norms_before(NodeId update) const {
    std::vector<NodeId> norms;
    if (!is_late(update)) return norms;
    for (const ValueId input : graph_.node(update).inputs) {
      if (is_persistent(graph_.value(input).role)) continue;
      for (const NodeId reader : readers_[static_cast<std::size_t>(input.index)]) {
        if (!is_late(reader)) norms.push_back(reader);
      }
    }
    return norms;
  }

  Bytes transient_bytes(ValueId id) const {
    const Value& value = graph_.value(id);
    return is_persistent(value.role) ? 0 : value.type.bytes();
  }

  // Growth of live bytes if the node ran now; what nobody reads is gone at once.
  Bytes growth(NodeId id) const {
    const Node& node = graph_.node(id);
    Bytes bytes = 0;
    for (const ValueId output : node.outputs) {
      if (readers_left_[static_cast<std::size_t>(output.index)] > 0) bytes += transient_bytes(output);
    }
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const bool repeated = std::find(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(k),
                                      node.inputs[k]) != node.inputs.begin() + static_cast<std::ptrdiff_t>(k);
      const bool dies = readers_left_[static_cast<std::size_t>(node.inputs[k].index)] == 1;
      if (!repeated && dies) bytes -= transient_bytes(node.inputs[k]);
    }
    return bytes;
  }

  // What is alive while the node runs, beside what is alive before it.
  Bytes made_by(NodeId id) const {
    Bytes bytes = selected_.choice(id).workspace;
    for (const ValueId output : graph_.node(id).outputs) bytes += transient_bytes(output);
    return bytes;
  }

  // Outputs that only an update or a norm waits for: it can follow directly, and they are gone again.
  Bytes gone_at_once(NodeId id) const {
    Bytes bytes = 0;
    for (const NodeId follower : followers_[static_cast<std::size_t>(id.index)]) {
      const Node& next = graph_.node(follower);
      if (missing_[static_cast<std::size_t>(follower.index)] != 1 || !leaves_nothing(next)) continue;
      for (const ValueId output : graph_.node(id).outputs) {
        const bool dies = readers_left_[static_cast<std::size_t>(output.index)] == 1;
        const bool is_read = std::find(next.inputs.begin(), next.inputs.end(), output) != next.inputs.end();
        if (dies && is_read) bytes += graph_.value(output).type.bytes();
      }
    }
    return bytes;
  }

  bool leaves_nothing(const Node& node) const {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
      return is_persistent(graph_.value(output).role) || graph_.value(output).type.shape.count() == 1;
    });
  }

  // Updates of the second pass follow each other as their gradients did: one made again finds what it is made from.
  std::pair<Bytes, std::int32_t> late_key(NodeId id) const {
    constexpr Bytes kAfterAll = std::int64_t{1} << 60;
    std::int32_t place = 0;
    for (const ValueId input : graph_.node(id).inputs) {
      const NodeId producer = graph_.value(input).producer;
      const bool is_gradient = producer.is_valid() && !graph_.node(producer).op->ends_first_pass;
      if (is_gradient) place = std::max(place, place_[static_cast<std::size_t>(producer.index)]);
    }
    return {kAfterAll + place, id.index};
  }

  // Whatever frees most, the earlier node first.
  std::pair<Bytes, std::int32_t> key(NodeId id) const {
    if (is_late(id)) return late_key(id);
    // A weight gradient for its update costs nothing but a moment's memory: it waits while that would raise the peak.
    const bool raises_peak = live_ + made_by(id) > peak_;
    return {growth(id) - (raises_peak ? 0 : gone_at_once(id)), id.index};
  }

  const Selected& selected_;
  const Graph& graph_;
  Preference preference_;
  std::vector<bool> is_late_;
  std::vector<std::int32_t> place_;  // in the order so far, by node
  Bytes live_ = 0, peak_ = 0;        // transients, so far
  std::vector<int> missing_;
  std::vector<std::vector<NodeId>> followers_, readers_;  // of a node, of a value
  std::vector<int> readers_left_;
  // Ready nodes: those that go in turn by their place in the graph, the others by key, which changes as nodes run.
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> in_turn_;
  std::vector<NodeId> weighed_;
};

// What is never kept is unpacked right before its first reader: one dense copy at a time, not all of them at the start.
std::vector<NodeId> unpack_late(const Graph& graph, const std::vector<NodeId>& order) {
  std::vector<NodeId> result;
  std::vector<bool> is_done(static_cast<std::size_t>(graph.node_count()), false);
  const auto is_packed = [&](NodeId id) { return id.is_valid() && graph.node(id).op->never_kept; };
  for (const NodeId id : order) {
    if (is_packed(id)) continue;
    for (const ValueId input : graph.node(id).inputs) {
      const NodeId producer = graph.value(input).producer;
      if (!is_packed(producer) || is_done[static_cast<std::size_t>(producer.index)]) continue;
      is_done[static_cast<std::size_t>(producer.index)] = true;
      result.push_back(producer);
    }
    result.push_back(id);
  }
  return result;
}

}  // namespace

std::vector<bool> second_pass_nodes(const Graph& graph) {
  std::vector<bool> is_late(static_cast<std::size_t>(graph.node_count()), false);
  for (const NodeId id : graph.topological_order()) {
    const std::vector<ValueId>& inputs = graph.node(id).inputs;
    is_late[static_cast<std::size_t>(id.index)] = std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
      const NodeId producer = graph.value(input).producer;
      return producer.is_valid() &&
             (graph.node(producer).op->ends_first_pass || is_late[static_cast<std::size_t>(producer.index)]);
    });
  }
  return is_late;
}

std::vector<NodeId> order_nodes(const Selected& selected) {
  const Order greedy = ListScheduler(selected, Preference::frees_most).run();
  const Order plain = ListScheduler(selected, Preference::given_first).run();
  // Looking one step ahead can lead astray; the order of the graph is then the better one.
  return unpack_late(selected.graph(), (plain.peak < greedy.peak ? plain : greedy).nodes);
}

}  // namespace thimble
