// Times of steps beside what the machine could do: grouped by what a kernel is asked for, and by op. Pure arithmetic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/roofs.h"

namespace thimble {

// One kernel on operands of one kind; how often a plan calls it is another matter.
struct KernelWork {
  std::string op;
  std::string kernel;
  std::string use;     // all that decides its time, as in select/use.h; empty: moves bytes, computes nothing
  std::string shape;   // for people
  Demand demand = {};  // of one call
  double predicted_seconds = 0;
};

// One step of an iteration's flat lists, recomputed ones and those of every microbatch included.
struct TimedStep {
  std::size_t work = 0;         // into BenchTimes::works
  std::vector<double> seconds;  // one an iteration
};

struct BenchTimes {
  std::vector<KernelWork> works;
  std::vector<TimedStep> steps;
  std::vector<double> iteration_seconds;  // of steps and of what lies between them, without loading
};

struct BenchRow {
  std::string op;
  std::string kernel, use, shape;  // empty in the totals of an op
  std::int64_t calls = 0;          // in an iteration, and so all that follows
  double seconds = 0;              // median over iterations of their sum
  double flops = 0;
  double bytes = 0;
  double roof_seconds = 0;  // in which the machine could have done it
  double predicted_seconds = 0;
  double call_seconds = 0;  // median over all calls

  double share_of_roof() const { return seconds > 0 ? roof_seconds / seconds : 0; }
  // A step that only moves bytes between memory and file has no roof here.
  bool is_far_from_roof() const;
};

struct BenchFigures {
  Roofs roofs;
  std::vector<BenchRow> ops;      // longest first
  std::vector<BenchRow> kernels;  // longest first
  std::int64_t calls = 0;
  double iteration_seconds = 0;  // median
  double fastest_seconds = 0;    // of the iterations ...
  double slowest_seconds = 0;    // ... far from each other where another process had the machine
  double step_seconds = 0;       // median over iterations of the sum of all steps
  double predicted_seconds = 0;

  double between_seconds() const { return iteration_seconds - step_seconds; }
};

BenchFigures bench_figures(const BenchTimes& times, const Roofs& roofs);

}  // namespace thimble
