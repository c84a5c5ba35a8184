// Where everything lives: plain data that is executed, verified, printed and drawn. Offsets are bytes from the start of
// the arena or, where it says so, of the spill file.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/space.h"
#include "grad/training.h"

namespace thimble {

struct Place {
  Bytes offset = 0;
  Bytes bytes = 0;

  Bytes end() const { return offset + bytes; }
  friend bool operator==(const Place&, const Place&) = default;
};

// A step runs a node or, if it has a transfer, starts that one or waits for it.
struct PlannedStep {
  NodeId node;
  bool is_recompute = false;
  std::vector<Place> in;
  std::vector<Place> out;
  Place workspace;
  int starts = -1;  // into PhasePlan::transfers
  int waits = -1;   // the same

  bool is_transfer() const { return starts >= 0 || waits >= 0; }
};

// Bytes on their way between the two spaces. From its start step to its wait step a transfer owns both its ends, but
// that others may read what is being stored.
struct PlannedTransfer {
  Direction direction = Direction::load;
  ValueId value;
  Place arena;
  Place spill;  // as many bytes; the file's last block is moved whole
};

// A stretch of the arena for some steps of a phase; several values may share it in turn (in place) or at once (views).
struct PlannedBuffer {
  std::string name;  // of the first value that lives there
  Role role = Role::activation;
  bool is_workspace = false;
  Place place;
  int first_step = 0;
  int last_step = 0;
  std::vector<ValueId> values;
};

// A value that the host fills before the phase runs.
struct PlannedInput {
  ValueId value;
  Place place;
};

struct PhasePlan {
  Phase phase;
  std::vector<PlannedStep> steps;
  std::vector<PlannedBuffer> buffers;  // transient ones
  std::vector<PlannedInput> inputs;
  std::vector<PlannedTransfer> transfers = {};
  Bytes transient_bytes = 0;  // end of the last transient buffer, measured from the end of the persistent part
  Bytes lower_bound = 0;      // of transient_bytes: the most bytes alive at once
  double seconds = 0;         // predicted
  double flops = 0;
  double recompute_flops = 0;
};

// A persistent tensor, at the same place in every phase. For a pool this is the whole pool.
struct PersistentPlace {
  std::string name;  // of the value; "pool/parameter" and the like for pools
  Role role = Role::parameter;
  Type type;
  Place place;
  Space space = Space::arena;
};

// All plans that share the arena. Persistent values lie below all transients.
struct PlanSet {
  std::vector<PersistentPlace> persistents;
  Place staging;               // at the start of the arena: what passes between it and the spill file does so here
  Bytes persistent_bytes = 0;  // of the arena, staging included
  Bytes arena_bytes = 0;
  Bytes spill_bytes = 0;  // of the spill file; 0: there is none
  Bytes lower_bound_bytes = 0;
  std::vector<PhasePlan> phases;

  const PersistentPlace* find(std::string_view name) const;
};

// The name under which a persistent value's storage is planned.
std::string storage_name(const Graph& graph, ValueId value);

}  // namespace thimble
