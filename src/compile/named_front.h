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

// The front of one family; behind those without offload, where that is allowed, those with it.
std::vector<NamedPoint> all_points(const Stages& stages, const CompileRequest& request, Recompute recompute);

// The same choices of what to recompute judged for another microbatch; what is worth spilling there is searched anew,
// since a smaller one moves parameters and optimizer state more often beside fewer activations.
std::vector<NamedPoint> transferred(const Stages& stages, const CompileRequest& request,
                                    const std::vector<NamedPoint>& known);

// Sorted from fastest to smallest, beaten ones left out.
std::vector<NamedPoint> unbeaten(std::vector<NamedPoint> points);

// Transients of the smallest point without offload, so that evaluation is the same with it.
Bytes evaluation_limit(const std::vector<NamedPoint>& points);

}  // namespace thimble
