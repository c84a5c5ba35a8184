#include "train/state_view.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace thimble {

const Program::Persistent* find_persistent(Persistents persistents, std::string_view name) {
  const auto found = std::find_if(persistents.begin(), persistents.end(),
                                  [&](const Program::Persistent& persistent) { return persistent.name == name; });
  return found == persistents.end() ? nullptr : &*found;
}

const Program::Persistent& known_persistent(Persistents persistents, std::string_view name) {
  const Program::Persistent* found = find_persistent(persistents, name);
  ensure(found != nullptr, "state: there is no persistent value '", name, "'");
  return *found;
}

TensorView get_persistent(Persistents persistents, std::string_view name) {
  const Program::Persistent& found = known_persistent(persistents, name);
  ensure(found.view.data != nullptr, "state: '", name, "' is in the spill file, wanted in the arena");
  return found.view;
}

TensorView room_for(const StateView& state, const Program::Persistent& persistent) {
  if (persistent.view.data != nullptr) return persistent.view;
  TensorView view = persistent.view;
  view.data = state.scratch.data();
  // Cannot be too small: every phase that uses the value has it there too.
  ensure(state.spill != nullptr && bytes_of(view).size() <= state.scratch.size(), "state: no room for '",
         persistent.name, "'");
  return view;
}

TensorView fetch(const StateView& state, const Program::Persistent& persistent) {
  const TensorView view = room_for(state, persistent);
  if (persistent.view.data != nullptr) return view;
  const Status status = state.spill->read(persistent.spill_offset, bytes_of(view));
  require(status == Status::good, state.spill->error());
  return view;
}

void put_back(const StateView& state, const Program::Persistent& persistent) {
  if (persistent.view.data != nullptr) return;
  const Status status = state.spill->write(persistent.spill_offset, bytes_of(room_for(state, persistent)));
  require(status == Status::good, state.spill->error());
}

bool is_state(Role role) { return is_persistent(role) && role != Role::accumulator && role != Role::metric; }

std::span<std::byte> bytes_of(const TensorView& view) {
  return {view.as<std::byte>(), static_cast<std::size_t>(view.shape.count() * bytes_of(view.dtype))};
}

const Program::Persistent* find_not_finite(const StateView& state) {
  for (const Program::Persistent& persistent : state.persistents) {
    if (!is_state(persistent.role) || !is_floating(persistent.view.dtype)) continue;
    const TensorView view = fetch(state, persistent);
    for (std::int64_t i = 0; i < view.shape.count(); ++i) {
      if (!std::isfinite(load(view, i))) return &persistent;
    }
  }
  return nullptr;
}

}  // namespace thimble
