// Any bytes as the files of CIFAR-10 and CIFAR-100: refused with a UserError, or every sample reads with a label in
// range or is refused itself. Of the first six bytes each shapes one file: two bits say how many records it has, the
// top bit cuts off its last byte.
#include <array>
#include <vector>

#include "base/error.h"
#include "data/cifar10.h"
#include "data/cifar100.h"
#include "memory_file.h"

namespace {

using ByteSpan = std::span<const std::uint8_t>;

// Repeats the given bytes over all records: the fuzzer need not find inputs of many kilobytes.
thimble::InputFile make_file(ByteSpan bytes, std::uint8_t form, std::size_t record_bytes) {
  std::vector<std::uint8_t> file(static_cast<std::size_t>(form & 3) * record_bytes);
  for (std::size_t i = 0; i < file.size() && !bytes.empty(); ++i) file[i] = bytes[i % bytes.size()];
  if ((form & 0x80) != 0 && !file.empty()) file.pop_back();
  return thimble::fuzz::memory_file(file, "input");
}

void read_all(const thimble::Dataset& dataset) {
  using namespace thimble;
  std::array<std::uint8_t, 3072> pixels;
  for (const Split split : {Split::train, Split::test}) {
    for (std::int64_t index = 0; index < dataset.count(split); ++index) {
      try {
        const std::int32_t label = dataset.read(split, index, pixels);
        if (label < 0 || label >= dataset.class_count()) __builtin_trap();
      } catch (const UserError&) {  // a bad label spoils its own sample only
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thimble;
  constexpr std::size_t kRecord10 = 3073, kRecord100 = 3074;
  if (size < 6) return 0;
  const ByteSpan rest(data + 6, size - 6);
  try {
    std::vector<InputFile> train;
    for (int number = 0; number < 5; ++number) train.push_back(make_file(rest, data[number], kRecord10));
    read_all(*open_cifar10(std::move(train), make_file(rest, data[5], kRecord10)));
  } catch (const UserError&) {
  }
  try {
    read_all(*open_cifar100(make_file(rest, data[0], kRecord100), make_file(rest, data[1], kRecord100)));
  } catch (const UserError&) {
  }
  return 0;
}
