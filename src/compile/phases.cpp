#include "compile/phases.h"

#include <algorithm>

#include "base/error.h"

namespace thimble {

std::vector<PhaseTurn> iteration_turns(std::int64_t batch, std::int64_t microbatch) {
  ensure(batch >= 1 && microbatch >= 1, "phases: batch ", batch, ", microbatch ", microbatch);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(batch / microbatch), microbatch);
  const std::int64_t rest = batch % microbatch;
  if (rest > 0) sizes.insert(sizes.size() >= 2 ? sizes.end() - 1 : sizes.end(), rest);
  std::vector<PhaseTurn> turns;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    turns.push_back({{.samples = sizes[i], .opens = i == 0, .closes = i + 1 == sizes.size(), .trains = true}, offset});
    offset += sizes[i];
  }
  return turns;
}

std::vector<PhaseTurn> evaluation_turns(std::int64_t count, std::int64_t samples) {
  std::vector<PhaseTurn> turns;
  for (std::int64_t offset = 0; offset < count; offset += samples) {
    const std::int64_t size = std::min(samples, count - offset);
    turns.push_back({{.samples = size, .opens = true, .closes = true, .trains = false}, offset});
  }
  return turns;
}

}  // namespace thimble
