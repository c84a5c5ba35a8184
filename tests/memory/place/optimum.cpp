#include "memory/place/optimum.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.h"

namespace thimble {

namespace {

// In order of their offsets in some best placement, requests can be laid down one by one, each as low as those under it
// allow, without ending higher than in that placement. So trying each order, each time on top of all that it meets,
// finds the optimum.
class Exhaustive {
 public:
  explicit Exhaustive(std::span<const Request> requests)
      : requests_(requests), ends_(requests.size(), 0), is_placed_(requests.size(), false) {}

  Bytes run() {
    extend(0, 0);
    return best_;
  }

 private:
  void extend(std::size_t placed_count, Bytes highest) {
    if (highest >= best_) return;
    if (placed_count == requests_.size()) {
      best_ = highest;
      return;
    }
    for (std::size_t index = 0; index < requests_.size(); ++index) {
      if (is_placed_[index]) continue;
      is_placed_[index] = true;
      ends_[index] = floor_of(index) + (requests_[index].bytes + 63) / 64 * 64;
      extend(placed_count + 1, std::max(highest, ends_[index]));
      is_placed_[index] = false;
    }
  }

  Bytes floor_of(std::size_t index) const {
    Bytes floor = 0;
    for (std::size_t other = 0; other < requests_.size(); ++other) {
      const bool meets = requests_[other].first_step <= requests_[index].last_step &&
                         requests_[other].last_step >= requests_[index].first_step;
      if (other != index && is_placed_[other] && meets) floor = std::max(floor, ends_[other]);
    }
    return floor;
  }

  std::span<const Request> requests_;
  std::vector<Bytes> ends_;
  std::vector<bool> is_placed_;
  Bytes best_ = std::numeric_limits<Bytes>::max();
};

}  // namespace

Bytes optimum(std::span<const Request> requests) {
  ensure(requests.size() <= 8, "optimum of ", requests.size(), " requests; at most 8 can be tried exhaustively");
  return Exhaustive(requests).run();
}

}  // namespace thimble
