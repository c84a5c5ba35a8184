// Any bytes as an IDX file, plain or gzip, of images and of labels: refused with a UserError, or readable to the last
// item.
#include <vector>

#include "base/error.h"
#include "data/idx.h"
#include "memory_file.h"

namespace {

void read_whole(std::span<const std::uint8_t> bytes, int rank) {
  using namespace thimble;
  try {
    const IdxArray array = open_idx(fuzz::memory_file(bytes, "/dev/shm/input"), rank, "/tmp");
    std::vector<std::uint8_t> item(static_cast<std::size_t>(array.item_shape.count()));
    for (const std::int64_t index : {std::int64_t{0}, array.count - 1})
      array.file.read_at(array.item_offset(index), item);
  } catch (const UserError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_whole({data, size}, 3);
  read_whole({data, size}, 1);
  return 0;
}
