// The front of one microbatch with its choices under the names of values, so that they mean the same for every phase
// and every microbatch.
#pragma once

#include <string>
#include <vector>

#include "compile/stages.h"

namespace thimble {

struct NamedPoint {
  NamedChoice choice;
  Bytes resident_bytes = 0;  // of the arena, beside transients: what persists there, and staging
  Bytes live_bytes = 0;      // of the busiest phase's transients
  double seconds = 0;        // of the busiest phase
  std::string strategy;

  Bytes arena_bytes() const { return resident_bytes + live_bytes; }  // before placement: no plan of it is smaller
};

// How far down a front is searched.
enum class Depth : std::uint8_t { whole, as_asked };  // the second: as far as the request's budget asks for

// The front of one family; behind those without offload, where that is allowed, those with it.
std::vector<NamedPoint> all_points(const Stages& stages, const CompileRequest& request, Recompute recompute,
                                   Depth depth);

// Transients of the smallest point without offload, so that evaluation is the same with it.
Bytes evaluation_limit(const std::vector<NamedPoint>& points);

// Fronts of one microbatch after another. What to recompute is searched for the first and judged anew for the others;
// what is worth spilling is searched anew, since a smaller microbatch moves parameters and optimizer state more often
// beside fewer activations.
class Fronts {
 public:
  struct Front {
    Bytes evaluation = 0;            // what evaluation may take
    std::vector<NamedPoint> points;  // from fastest to smallest, beaten ones left out
  };

  // `request` must outlive it.
  Fronts(const CompileRequest& request, Recompute recompute, Depth depth)
      : request_(request), recompute_(recompute), depth_(depth) {}

  Front of(Stages& stages);  // which get their evaluation phases

  // For a budget that was found too small after all, as what plans need beside their arenas is known only once they are
  // placed: from now on fronts have their smallest points too. False if they had them.
  bool deepen();

  const std::vector<NamedPoint>& of_first() const { return known_; }  // all points, beaten ones too

 private:
  const CompileRequest& request_;
  Recompute recompute_;
  Depth depth_;
  bool is_whole_ = false;
  std::int64_t known_microbatch_ = 0;
  std::vector<NamedPoint> known_;
};

}  // namespace thimble
