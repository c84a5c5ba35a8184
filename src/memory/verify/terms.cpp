#include "memory/verify/terms.h"

#include <bit>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "base/random.h"

namespace thimble {
namespace {

// Order matters: (a, b) and (b, a) give different terms. The finaliser is that of SplitMix64.
Term mix(Term so_far, std::uint64_t next) {
  Term z = (so_far ^ (next + 0x9e3779b97f4a7c15U + (so_far << 6) + (so_far >> 2))) + 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

Term mix_text(Term so_far, std::string_view text) { return mix(so_far, hash_text(text.data(), text.size())); }

Term mix_attribute(Term so_far, const AttributeValue& value) {
  const Term kind = mix(so_far, value.index());
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return mix(kind, static_cast<std::uint64_t>(*integer));
  if (const auto* number = std::get_if<double>(&value)) return mix(kind, std::bit_cast<std::uint64_t>(*number));
  return mix_text(kind, std::get<std::string>(value));
}

// The op and everything that parameterises it, the key of its random numbers included.
Term term_of_function(const Node& node) {
  Term term = mix_text(1, node.op->name);
  for (const auto& [name, value] : node.attributes.items()) term = mix_attribute(mix_text(term, name), value);
  return term;
}

class DemandBuilder {
 public:
  DemandBuilder(const Graph& graph, std::span<const PersistentPlace> persistents)
      : graph_(graph), persistents_(persistents) {
    const auto count = static_cast<std::size_t>(graph.value_count());
    demands_.terms.resize(count);
    demands_.storage.assign(count, -1);
    demands_.at_end.resize(persistents.size());
    for (std::size_t p = 0; p < persistents.size(); ++p) by_name_.emplace(persistents[p].name, p);
  }

  Demands run() {
    bool is_good = true;
    for (std::int32_t v = 0; v < graph_.value_count() && is_good; ++v) {
      if (!graph_.value(ValueId{v}).producer.is_valid()) is_good = add_source(ValueId{v});
    }
    if (!is_good) return std::move(demands_);
    for (const NodeId id : graph_.topological_order()) {
      if (!add_node(graph_.node(id))) break;
    }
    return std::move(demands_);
  }

 private:
  Term& term(ValueId id) { return demands_.terms[static_cast<std::size_t>(id.index)]; }
  std::int32_t& storage(ValueId id) { return demands_.storage[static_cast<std::size_t>(id.index)]; }
  const PersistentPlace& place(ValueId id) { return persistents_[static_cast<std::size_t>(storage(id))]; }

  template <typename... Parts>
  bool fail(const Parts&... parts) {
    demands_.fault = join_text(parts...);
    return false;
  }

  // Finds the persistent place by name, for a value that does not take over the storage of another.
  bool find_storage(ValueId id) {
    const Value& value = graph_.value(id);
    const std::string name = value.type.layout == Layout::pooled ? "pool/" + value.pool : value.name;
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return fail("'", value.name, "' found no persistent place, wanted '", name, "'");
    storage(id) = static_cast<std::int32_t>(found->second);
    return true;
  }

  bool check_type(ValueId id) {
    const Type& found = place(id).type;
    const Type& wanted = graph_.value(id).type;
    return found == wanted || fail("'", graph_.value(id).name, "' found persistent place '", place(id).name, "' of ",
                                   to_text(found), ", wanted ", to_text(wanted));
  }

  bool add_source(ValueId id) {
    const Value& value = graph_.value(id);
    if (!is_persistent(value.role)) {
      term(id) = mix_text(2, value.name);
      return true;
    }
    if (!find_storage(id) || !check_type(id)) return false;
    term(id) = term_before(place(id), slot_of(value));
    return true;
  }

  bool add_node(const Node& node) {
    Term function = term_of_function(node);
    for (const ValueId input : node.inputs) function = mix(function, term(input));
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      // A view is the memory of its input, so it is also the term of its input.
      term(node.outputs[k]) = node.op->is_view && k == 0 ? term(node.inputs[0]) : mix(function, k);
      if (!add_storage(node, node.outputs[k])) return false;
    }
    return check_slots(node);
  }

  // An update's output takes over the storage of the input it is the next version of.
  bool add_storage(const Node& node, ValueId output) {
    const Value& value = graph_.value(output);
    if (node.op->is_update) {
      for (const InPlacePair& pair : node.op->in_place) {
        if (pair.output == value.output_index)
          storage(output) = storage(node.inputs[static_cast<std::size_t>(pair.input)]);
      }
    }
    if (storage(output) < 0 && is_persistent(value.role) && !find_storage(output)) return false;
    if (storage(output) < 0) return true;
    if (!check_type(output)) return false;
    // Nodes come after what they read, so the last version of a chain is noted last.
    demands_.at_end[static_cast<std::size_t>(storage(output))][slot_of(value)] = term(output);
    return true;
  }

  // Which bytes of a pool a node touches is told by its attribute 'slot'; the graph's own note must say the same.
  bool check_slots(const Node& node) {
    for (const std::vector<ValueId>* values : {&node.inputs, &node.outputs}) {
      for (const ValueId id : *values) {
        const Value& value = graph_.value(id);
        if (value.type.layout != Layout::pooled) continue;
        if (!node.attributes.has("slot"))
          return fail("'", value.name, "' is pooled, but ", node.op->name, " has no slot");
        const std::int64_t found = node.attributes.integer("slot");
        if (found != value.slot) {
          return fail("'", value.name, "' found ", node.op->name, " at work on slot ", found, ", wanted slot ",
                      value.slot);
        }
      }
    }
    return true;
  }

  const Graph& graph_;
  std::span<const PersistentPlace> persistents_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  Demands demands_;
};

}  // namespace

Term term_before(const PersistentPlace& persistent, int slot) {
  return mix(mix_text(3, persistent.name), static_cast<std::uint64_t>(slot));
}

Demands demands_of(const Graph& graph, std::span<const PersistentPlace> persistents) {
  return DemandBuilder(graph, persistents).run();
}

}  // namespace thimble
