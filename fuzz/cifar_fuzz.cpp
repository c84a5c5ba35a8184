// Any bytes as the files of CIFAR-10: refused with a UserError, or every sample reads with a label in range or is
// refused itself. Of the first six bytes each shapes one file: two bits say how many records it has, the top bit cuts
// off its last byte.
#include <array>
#include <vector>

#include "base/error.h"
#include "data/cifar10.h"
#include "memory_file.h"

namespace {

using Bytes = std::span<const std::uint8_t>;

// Repeats the given bytes over all records: the fuzzer need not find inputs of many kilobytes.
std::vector<std::uint8_t> make_file(Bytes bytes, std::uint8_t form) {
  std::vector<std::uint8_t> file(static_cast<std::size_t>(form & 3) * 3073);
  for (std::size_t i = 0; i < file.size() && !bytes.empty(); ++i) file[i] = bytes[i % bytes.size()];
  if ((form & 0x80) != 0 && !file.empty()) file.pop_back();
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thimble;
  if (size < 6) return 0;
  const Bytes rest(data + 6, size - 6);
  try {
    std::vector<InputFile> train;
    for (int number = 0; number < 5; ++number) {
      train.push_back(fuzz::memory_file(make_file(rest, data[number]), "train"));
    }
    const auto dataset = open_cifar10(std::move(train), fuzz::memory_file(make_file(rest, data[5]), "test"));
    std::array<std::uint8_t, 3072> pixels;
    for (const Split split : {Split::train, Split::test}) {
      for (std::int64_t index = 0; index < dataset->count(split); ++index) {
        try {
          const std::int32_t label = dataset->read(split, index, pixels);
          if (label < 0 || label >= dataset->class_count()) __builtin_trap();
        } catch (const UserError&) {  // a bad label spoils its own sample only
        }
      }
    }
  } catch (const UserError&) {
  }
  return 0;
}
