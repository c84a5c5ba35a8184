#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "memory/verify/phase.h"
#include "memory/verify/sharing.h"

namespace thimble {
namespace {

class BufferCheck {
 public:
  BufferCheck(const Graph& graph, const PhasePlan& plan, const PlanSet& set) : graph_(graph), plan_(plan), set_(set) {}

  std::optional<std::string> run() {
    if (check_buffers() && check_disjoint() && check_inputs() && check_steps()) return std::nullopt;
    return fault_;
  }

 private:
  template <typename... Parts>
  bool fail(const Parts&... parts) {
    fault_ = join_text(parts...);
    return false;
  }

  const PlannedBuffer& buffer(std::size_t index) const { return plan_.buffers[index]; }

  static std::string text(const PlannedBuffer& buffer) {
    return join_text("buffer '", buffer.name, "' at ", range_text(buffer.place), " over steps ", buffer.first_step,
                     " to ", buffer.last_step);
  }

  bool check_buffers() {
    const Bytes begin = set_.persistent_bytes;
    const Bytes end = begin + plan_.transient_bytes;
    if (plan_.transient_bytes < 0 || end > set_.arena_bytes) {
      return fail("found ", plan_.transient_bytes, " transient bytes behind ", begin, ", wanted at most ",
                  set_.arena_bytes - begin);
    }
    const auto last = static_cast<int>(plan_.steps.size()) - 1;
    for (const PlannedBuffer& b : plan_.buffers) {
      if (b.place.bytes < 0 || b.place.offset < begin || b.place.offset > end || b.place.bytes > end - b.place.offset) {
        return fail(text(b), ", wanted it inside [", begin, ", ", end, ")");
      }
      if (b.place.offset % kPlaceAlignment != 0) return fail(text(b), ", wanted a multiple of ", kPlaceAlignment);
      if (b.first_step < 0 || b.first_step > b.last_step || b.last_step > last)
        return fail(text(b), ", wanted steps 0 to ", last);
    }
    return true;
  }

  // Buffers in order of their first step, against those still alive; two neighbours in memory are all that can clash.
  bool check_disjoint() {
    std::vector<std::size_t> order(plan_.buffers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return buffer(a).first_step < buffer(b).first_step; });
    std::map<Bytes, std::size_t> alive;  // by offset
    std::multimap<int, Bytes> ends;      // last step -> offset
    for (const std::size_t index : order) {
      const PlannedBuffer& b = buffer(index);
      if (b.place.bytes == 0) continue;
      while (!ends.empty() && ends.begin()->first < b.first_step) {
        alive.erase(ends.begin()->second);
        ends.erase(ends.begin());
      }
      const auto above = alive.lower_bound(b.place.offset);
      if (above != alive.end() && above->first < b.place.end())
        return fail(text(b), " lies on ", text(buffer(above->second)));
      if (above != alive.begin() && buffer(std::prev(above)->second).place.end() > b.place.offset) {
        return fail(text(b), " lies on ", text(buffer(std::prev(above)->second)));
      }
      alive.emplace(b.place.offset, index);
      ends.emplace(b.last_step, b.place.offset);
      by_start_[{b.place.offset, b.first_step}] = index;
    }
    return true;
  }

  // Buffers alive at one step are disjoint, so only the latest that starts at this offset can hold the place.
  bool check_covered(const Place& place, int step, bool is_workspace, const std::string& what) {
    if (place.bytes == 0 || place.offset < set_.persistent_bytes) return true;
    auto next = by_start_.upper_bound({place.offset, step});
    if (next != by_start_.begin() && (--next)->first.first == place.offset) {
      const PlannedBuffer& b = buffer(next->second);
      if (b.last_step >= step && place.bytes <= b.place.bytes && b.is_workspace == is_workspace) return true;
      return fail("step ", step, ": ", what, " at ", range_text(place), " found ", text(b),
                  ", wanted a buffer that holds it");
    }
    return fail("step ", step, ": ", what, " at ", range_text(place), " found no buffer, wanted one that holds it");
  }

  bool check_inputs() {
    for (const PlannedInput& input : plan_.inputs) {
      if (!check_covered(input.place, 0, false, graph_.value(input.value).name)) return false;
    }
    return true;
  }

  bool check_steps() {
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const PlannedStep& step = plan_.steps[s];
      const auto index = static_cast<int>(s);
      if (step.is_transfer()) {
        const int transfer = step.starts >= 0 ? step.starts : step.waits;
        const PlannedTransfer& moved = plan_.transfers[static_cast<std::size_t>(transfer)];
        if (!check_covered(moved.arena, index, false, "what is moved")) return false;
        continue;
      }
      const Node& node = graph_.node(step.node);
      for (std::size_t k = 0; k < step.in.size(); ++k) {
        if (!check_covered(step.in[k], index, false, graph_.value(node.inputs[k]).name)) return false;
      }
      for (std::size_t k = 0; k < step.out.size(); ++k) {
        if (!check_covered(step.out[k], index, false, graph_.value(node.outputs[k]).name)) return false;
      }
      if (!check_covered(step.workspace, index, true, "workspace")) return false;
    }
    return true;
  }

  const Graph& graph_;
  const PhasePlan& plan_;
  const PlanSet& set_;
  std::map<std::pair<Bytes, int>, std::size_t> by_start_;  // (offset, first step) -> buffer
  std::string fault_;
};

}  // namespace

std::optional<std::string> find_buffer_fault(const Graph& graph, const PhasePlan& plan, const PlanSet& set) {
  return BufferCheck(graph, plan, set).run();
}

}  // namespace thimble
