// What the process asks of the system for itself: memory that goes back when it is freed, and signals.
#pragma once

#include <atomic>

namespace thimble::cli {

// Before anything else: no huge pages behind our back, no code that is not run, few heaps, freed memory returned at
// once.
void prepare_process();

// Between the parts of a run (start, planning, training): gives back what only the last one needed, free heap and pages
// of code, so that the next comes on top of little. Code that is needed again is read again.
void release_idle_memory();

// From here on the first SIGINT or SIGTERM sets the flag and the second ends the process.
const std::atomic<bool>& stop_on_signal();

}  // namespace thimble::cli
