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

TensorView get_persistent(Persistents persistents, std::string_view name) {
  const Program::Persistent* found = find_persistent(persistents, name);
  ensure(found != nullptr, "state: there is no persistent value '", name, "'");
  return found->view;
}

bool is_state(Role role) { return is_persistent(role) && role != Role::accumulator && role != Role::metric; }

std::span<std::byte> bytes_of(const TensorView& view) {
  return {view.as<std::byte>(), static_cast<std::size_t>(view.shape.count() * bytes_of(view.dtype))};
}

const Program::Persistent* find_not_finite(Persistents persistents) {
  for (const Program::Persistent& persistent : persistents) {
    if (!is_state(persistent.role) || !is_floating(persistent.view.dtype)) continue;
    for (std::int64_t i = 0; i < persistent.view.shape.count(); ++i) {
      if (!std::isfinite(load(persistent.view, i))) return &persistent;
    }
  }
  return nullptr;
}

}  // namespace thimble
