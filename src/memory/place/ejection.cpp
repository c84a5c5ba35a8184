// Packing below a target by ejection, an idea from vehicle routing (Nagata and Braysy 2009). What does not fit below
// the target waits in a pool. The largest in the pool is put where it throws out the least; what it threw out joins the
// pool. Whoever had to throw others out becomes harder to throw out itself, which leads the search away from where it
// has been going in circles. The first target is the goal; when the work allotted to a target is used up, the
// next is halfway up to the best found.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "memory/place/in_order.h"
#include "memory/place/lower_bound.h"
#include "memory/place/strategies.h"

namespace thimble {

namespace {

// Work is counted in pieces looked at, never in time, so that every machine finds the same. A target that is never met
// takes about 0.07 s of one core, and less in proportion where there are fewer than 250 pieces.
constexpr std::int64_t kWorkPerTarget = 20'000'000;
constexpr std::int64_t kWorkPerPiece = kWorkPerTarget / 250;
constexpr int kTargetCount = 10;
constexpr Bytes kGoodEnough = 512;  // stop when the best is within 1/512 of a target that failed

constexpr Bytes kWaiting = -1;  // offset of a piece in the pool

struct Piece {
  Bytes bytes = 0;  // aligned
  Bytes offset = kWaiting;
  int first = 0;
  int last = 0;
  int request = 0;            // index of the request this is
  std::int64_t tenacity = 1;  // what throwing it out costs

  Bytes end() const { return offset + bytes; }
};

// An edge of a placed piece; damage is that of all pieces up to and with this one, in order of position.
struct Edge {
  Bytes position = 0;
  std::int64_t damage = 0;
};

void accumulate(std::vector<Edge>& edges) {
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.position < b.position; });
  std::int64_t sum = 0;
  for (Edge& edge : edges) edge.damage = sum += edge.damage;
}

class Search {
 public:
  Search(std::span<const Request> requests, const Placement& start);

  void pack_below(Bytes target);
  const Placement& best() const { return best_; }

 private:
  void begin(Bytes target);
  int take_largest();
  void put(int index, Bytes target);
  void gather(const Piece& piece);
  Bytes least_damage_spot(const Piece& piece, Bytes target);
  void list_spots(Bytes bytes, Bytes highest);
  bool eject(const Piece& piece, Bytes spot);
  void wait(int index);
  void record();

  Piece& piece_at(int index) { return pieces_[static_cast<std::size_t>(index)]; }
  bool is_smaller(int a, int b) {
    return piece_at(a).bytes != piece_at(b).bytes ? piece_at(a).bytes < piece_at(b).bytes : a < b;
  }

  std::span<const Request> requests_;
  RandomKey key_ = random_key(0, RandomPurpose::place, 0);
  std::uint64_t draw_count_ = 0;
  std::int64_t work_ = 0;
  std::vector<Piece> pieces_;     // by first step
  std::vector<int> latest_last_;  // largest last step up to each piece: binary search finds who may still be alive
  std::vector<int> pool_;         // heap, largest piece on top
  Bytes pool_bytes_ = 0;
  Placement best_;

  // What one put() works with; members only to keep their memory.
  std::vector<int> near_;  // placed pieces alive together with the one to place
  std::vector<Edge> starts_, ends_;
  std::vector<Bytes> spots_, tied_;
};

Search::Search(std::span<const Request> requests, const Placement& start) : requests_(requests), best_(start) {
  const std::vector<int> order =
      order_by(requests, [](const Request& a, const Request& b) { return a.first_step < b.first_step; });
  int latest = std::numeric_limits<int>::min();
  for (const int index : order) {
    const Request& request = requests[static_cast<std::size_t>(index)];
    if (request.bytes == 0) continue;
    pieces_.push_back(
        {.bytes = aligned_bytes(request), .first = request.first_step, .last = request.last_step, .request = index});
    latest = std::max(latest, request.last_step);
    latest_last_.push_back(latest);
  }
}

void Search::pack_below(Bytes target) {
  begin(target);
  const std::int64_t limit = std::min(kWorkPerTarget, kWorkPerPiece * static_cast<std::int64_t>(pieces_.size()));
  Bytes least_waiting = std::numeric_limits<Bytes>::max();
  for (work_ = 0; !pool_.empty() && work_ < limit;) {
    put(take_largest(), target);
    // Piled up on the target the pool would still beat the best: worth the cost of finding better places for it.
    if (pool_bytes_ < least_waiting && target + pool_bytes_ < best_.bytes) {
      least_waiting = pool_bytes_ - pool_bytes_ / 8;
      record();
    }
  }
}

void Search::begin(Bytes target) {
  pool_.clear();
  pool_bytes_ = 0;
  for (std::size_t index = 0; index < pieces_.size(); ++index) {
    Piece& piece = pieces_[index];
    piece.offset = best_.offsets[static_cast<std::size_t>(piece.request)];
    piece.tenacity = 1;
    if (piece.end() > target) wait(static_cast<int>(index));
  }
}

void Search::wait(int index) {
  piece_at(index).offset = kWaiting;
  pool_bytes_ += piece_at(index).bytes;
  pool_.push_back(index);
  std::push_heap(pool_.begin(), pool_.end(), [this](int a, int b) { return is_smaller(a, b); });
}

int Search::take_largest() {
  std::pop_heap(pool_.begin(), pool_.end(), [this](int a, int b) { return is_smaller(a, b); });
  const int index = pool_.back();
  pool_.pop_back();
  pool_bytes_ -= piece_at(index).bytes;
  return index;
}

void Search::put(int index, Bytes target) {
  Piece& piece = piece_at(index);
  gather(piece);
  const Bytes spot = least_damage_spot(piece, target);
  if (eject(piece, spot)) ++piece.tenacity;
  piece.offset = spot;
}

void Search::gather(const Piece& piece) {
  near_.clear();
  const auto begin = std::lower_bound(latest_last_.begin(), latest_last_.end(), piece.first) - latest_last_.begin();
  auto index = static_cast<int>(begin);
  for (; index < static_cast<int>(pieces_.size()) && piece_at(index).first <= piece.last; ++index) {
    if (piece_at(index).offset != kWaiting && piece_at(index).last >= piece.first) near_.push_back(index);
  }
  work_ += index - begin + 16 * static_cast<std::int64_t>(near_.size());  // each near one is also sorted, twice
}

// Damage at a spot = tenacity of all that start below the piece's end, less that of all that end at or below its start.
// From any spot the piece can be slid down onto an end, or up against a start, without meeting more; so only those are
// tried. Either kind would do to find the least damage, but with one kind alone pieces pile up on one side and the
// search goes in circles.
Bytes Search::least_damage_spot(const Piece& piece, Bytes target) {
  const Bytes highest = target - piece.bytes;
  starts_.clear();
  ends_.clear();
  for (const int index : near_) {
    starts_.push_back({piece_at(index).offset, piece_at(index).tenacity});
    ends_.push_back({piece_at(index).end(), piece_at(index).tenacity});
  }
  accumulate(starts_);
  accumulate(ends_);
  list_spots(piece.bytes, highest);
  std::int64_t least_damage = std::numeric_limits<std::int64_t>::max();
  std::size_t start_count = 0, end_count = 0;
  for (const Bytes spot : spots_) {
    while (start_count < starts_.size() && starts_[start_count].position < spot + piece.bytes) ++start_count;
    while (end_count < ends_.size() && ends_[end_count].position <= spot) ++end_count;
    const std::int64_t damage =
        (start_count > 0 ? starts_[start_count - 1].damage : 0) - (end_count > 0 ? ends_[end_count - 1].damage : 0);
    if (damage > least_damage) continue;
    if (damage < least_damage) tied_.clear();
    least_damage = damage;
    tied_.push_back(spot);
  }
  return tied_[random_below(key_, draw_count_++, tied_.size())];
}

// The bottom, every end, every start less the piece, and the highest: in order, each once.
void Search::list_spots(Bytes bytes, Bytes highest) {
  spots_.assign(1, 0);
  for (const Edge& end : ends_) {
    if (end.position <= highest) spots_.push_back(end.position);
  }
  const auto middle = static_cast<std::ptrdiff_t>(spots_.size());
  for (const Edge& start : starts_) {
    if (start.position >= bytes) spots_.push_back(start.position - bytes);
  }
  spots_.push_back(highest);
  std::inplace_merge(spots_.begin(), spots_.begin() + middle, spots_.end());
  spots_.erase(std::unique(spots_.begin(), spots_.end()), spots_.end());
}

bool Search::eject(const Piece& piece, Bytes spot) {
  bool any = false;
  for (const int index : near_) {
    const Piece& other = piece_at(index);
    if (other.offset >= spot + piece.bytes || other.end() <= spot) continue;
    wait(index);
    any = true;
  }
  return any;
}

// Lets everything sink as far as it goes, in order of offset, then places the pool, largest first.
void Search::record() {
  std::vector<int> order(pieces_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [this](int a, int b) {
    const bool a_waits = piece_at(a).offset == kWaiting, b_waits = piece_at(b).offset == kWaiting;
    if (a_waits != b_waits) return b_waits;
    if (a_waits || piece_at(a).offset == piece_at(b).offset) return is_smaller(b, a);
    return piece_at(a).offset < piece_at(b).offset;
  });
  for (int& index : order) index = piece_at(index).request;
  Placement found = place_in_order(requests_, order, Fit::lowest, "ejection");
  if (found.bytes < best_.bytes) best_ = std::move(found);
}

}  // namespace

Placement place_by_ejection(std::span<const Request> requests, const Placement& start, Bytes goal) {
  const Bytes bound = std::max(lower_bound(requests), goal / kAlignment * kAlignment);
  Search search(requests, start);
  Bytes target = bound, failed = bound;
  for (int count = 0; count < kTargetCount && search.best().bytes > target; ++count) {
    search.pack_below(target);
    if (search.best().bytes > target) failed = target;
    const Bytes room = search.best().bytes - failed;
    if (search.best().bytes <= bound || room <= bound / kGoodEnough) break;
    target = failed + round_up(room / 2, kAlignment);
  }
  return search.best();
}

}  // namespace thimble
