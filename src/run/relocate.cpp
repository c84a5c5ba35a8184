#include "run/relocate.h"

#include <cstring>

#include "base/error.h"

namespace thimble {
namespace {

std::span<std::byte> bytes_at(const Residence& residence, const Relocation& move) {
  return {residence.arena, static_cast<std::size_t>(move.bytes)};
}

void check(std::span<const Relocation> moves, const SpillFile* file) {
  const std::byte *from_end = nullptr, *to_end = nullptr;
  const auto follows = [](const Residence& residence, Bytes bytes, const std::byte*& end) {
    if (residence.arena == nullptr) return true;
    const bool is_behind = residence.arena >= end;
    end = residence.arena + bytes;
    return is_behind;
  };
  for (const Relocation& move : moves) {
    ensure(follows(move.from, move.bytes, from_end) && follows(move.to, move.bytes, to_end),
           "relocate: found values in another order, wanted them as they lie in the arena");
    const bool is_in_arena = move.from.arena != nullptr && move.to.arena != nullptr;
    ensure(is_in_arena || file != nullptr, "relocate: found no spill file, wanted one");
    ensure(move.from.arena != nullptr || move.to.arena != nullptr || move.from.spill_offset == move.to.spill_offset,
           "relocate: a value found at ", move.from.spill_offset, " of the spill file, wanted at ",
           move.to.spill_offset);
  }
}

}  // namespace

void relocate(std::span<const Relocation> moves, SpillFile* file) {
  check(moves, file);
  for (const Relocation& move : moves) {
    if (move.from.arena == nullptr || move.to.arena != nullptr) continue;
    const Status status = file->write(move.to.spill_offset, bytes_at(move.from, move));
    require(status == Status::good, file->error());
  }
  // Downwards from the lowest, then upwards from the highest: since no two change their order, what is in the way of
  // one has moved already.
  const auto move_within = [](const Relocation& move) {
    std::memmove(move.to.arena, move.from.arena, static_cast<std::size_t>(move.bytes));
  };
  for (const Relocation& move : moves) {
    if (move.to.arena != nullptr && move.to.arena < move.from.arena) move_within(move);
  }
  for (std::size_t k = moves.size(); k-- > 0;) {
    if (moves[k].from.arena != nullptr && moves[k].from.arena < moves[k].to.arena) move_within(moves[k]);
  }
  for (const Relocation& move : moves) {
    if (move.from.arena != nullptr || move.to.arena == nullptr) continue;
    const Status status = file->read(move.from.spill_offset, bytes_at(move.to, move));
    require(status == Status::good, file->error());
  }
}

}  // namespace thimble
