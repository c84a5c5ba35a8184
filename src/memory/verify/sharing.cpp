#include "memory/verify/sharing.h"

#include <algorithm>

#include "base/error.h"
#include "memory/verify/contents.h"

namespace thimble {
namespace {

bool may_share(const OpDef& op, std::size_t output, std::size_t input) {
  return std::any_of(op.in_place.begin(), op.in_place.end(), [&](const InPlacePair& pair) {
    return pair.output == static_cast<int>(output) && pair.input == static_cast<int>(input);
  });
}

class SharingCheck {
 public:
  SharingCheck(const Graph& graph, const Node& node, const PlannedStep& step)
      : graph_(graph), node_(node), step_(step) {}

  std::optional<std::string> run() {
    const bool is_good = node_.op->is_view ? check_view() : check_outputs();
    if (is_good && check_workspace()) return std::nullopt;
    return fault_;
  }

 private:
  template <typename... Parts>
  bool fail(const Parts&... parts) {
    fault_ = join_text(parts...);
    return false;
  }

  std::string input_text(std::size_t k) const {
    return join_text("input ", k, " '", graph_.value(node_.inputs[k]).name, "' at ", range_text(step_.in[k]));
  }
  std::string output_text(std::size_t k) const {
    return join_text("output ", k, " '", graph_.value(node_.outputs[k]).name, "' at ", range_text(step_.out[k]));
  }

  bool check_view() {
    if (step_.out.size() == 1 && !step_.in.empty() && step_.out[0] == step_.in[0]) return true;
    return fail(output_text(0), " is a view, wanted it on ", input_text(0));
  }

  bool check_outputs() {
    for (std::size_t o = 0; o < step_.out.size(); ++o) {
      if (!check_output(o)) return false;
      for (std::size_t other = 0; other < o; ++other) {
        if (overlap(step_.out[o], step_.out[other])) return fail(output_text(o), " lies on ", output_text(other));
      }
    }
    return !node_.op->is_update || check_update();
  }

  // An output may lie on one input at most: one that is read twice would be gone for its second reader.
  bool check_output(std::size_t o) {
    std::size_t shared = 0;
    for (std::size_t i = 0; i < step_.in.size(); ++i) {
      if (!overlap(step_.out[o], step_.in[i])) continue;
      if (!may_share(*node_.op, o, i))
        return fail(output_text(o), " lies on ", input_text(i), ", which it may not overwrite");
      if (step_.out[o] != step_.in[i])
        return fail(output_text(o), " lies across ", input_text(i), ", wanted it exactly there");
      if (++shared > 1) return fail(output_text(o), " overwrites ", input_text(i), ", which the step reads twice");
    }
    return true;
  }

  bool check_update() {
    for (const InPlacePair& pair : node_.op->in_place) {
      const auto output = static_cast<std::size_t>(pair.output), input = static_cast<std::size_t>(pair.input);
      if (output >= step_.out.size() || input >= step_.in.size()) continue;
      if (step_.out[output] != step_.in[input]) {
        return fail(output_text(output), " is an update, wanted it on ", input_text(input));
      }
    }
    return true;
  }

  bool check_workspace() {
    for (std::size_t i = 0; i < step_.in.size(); ++i) {
      if (overlap(step_.workspace, step_.in[i])) {
        return fail("workspace at ", range_text(step_.workspace), " lies on ", input_text(i));
      }
    }
    for (std::size_t o = 0; o < step_.out.size(); ++o) {
      if (overlap(step_.workspace, step_.out[o])) {
        return fail("workspace at ", range_text(step_.workspace), " lies on ", output_text(o));
      }
    }
    return true;
  }

  const Graph& graph_;
  const Node& node_;
  const PlannedStep& step_;
  std::string fault_;
};

}  // namespace

std::string range_text(const Place& place) { return join_text("bytes [", place.offset, ", ", place.end(), ")"); }

std::optional<std::string> find_sharing_fault(const Graph& graph, const Node& node, const PlannedStep& step) {
  return SharingCheck(graph, node, step).run();
}

}  // namespace thimble
