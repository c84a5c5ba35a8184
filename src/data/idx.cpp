#include "data/idx.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/gzip.h"

namespace thimble {
namespace {

constexpr int kMaxRank = 3;
constexpr std::int64_t kMaxItems = std::int64_t{1} << 31;
constexpr std::int64_t kMaxSide = 1024;
constexpr std::int64_t kMaxUnpackedBytes = std::int64_t{4} << 30;
constexpr std::int64_t kMaxDeflateRatio = 1032;  // the format cannot do better: 258 bytes for two bits

constexpr std::int64_t header_bytes(int rank) { return 4 + 4 * rank; }
using Header = std::array<std::uint8_t, header_bytes(kMaxRank)>;

struct Layout {
  std::int64_t count = 0;
  Shape item_shape;
  std::int64_t bytes() const { return count * item_shape.count(); }
};

std::int64_t big_endian(std::span<const std::uint8_t> bytes) {
  std::int64_t value = 0;
  for (const std::uint8_t byte : bytes) value = value << 8 | byte;
  return value;
}

Layout parse_header(std::span<const std::uint8_t> header, int rank, const std::string& path) {
  constexpr std::int64_t kUnsignedByte = 0x0800;  // element type 8, in the place above the rank
  const std::int64_t magic = big_endian(header.first(4));
  require(magic == kUnsignedByte + rank, path, ": at offset 0 found magic number ", magic, ", wanted ",
          kUnsignedByte + rank, " (unsigned bytes, ", rank, rank == 1 ? " dimension)" : " dimensions)");
  std::vector<std::int64_t> dims;
  for (int axis = 0; axis < rank; ++axis) {
    const std::int64_t place = 4 + 4 * axis;
    const std::int64_t limit = axis == 0 ? kMaxItems : kMaxSide;
    dims.push_back(big_endian(header.subspan(static_cast<std::size_t>(place), 4)));
    require(dims.back() >= 1 && dims.back() <= limit, path, ": at offset ", place, " found dimension ", dims.back(),
            ", wanted 1 to ", limit);
  }
  return {dims[0], Shape(std::span<const std::int64_t>(dims).subspan(1))};
}

IdxArray open_plain(InputFile file, int rank) {
  Header buffer;
  const auto header = std::span(buffer).first(static_cast<std::size_t>(header_bytes(rank)));
  file.read_at(0, header);
  const Layout layout = parse_header(header, rank, file.path());
  const std::int64_t wanted = header_bytes(rank) + layout.bytes();
  require(file.size() == wanted, file.path(), ": found ", file.size(), " bytes, wanted ", wanted, " for ", layout.count,
          " items of ", layout.item_shape.count(), " bytes and a header of ", header_bytes(rank));
  return {std::move(file), header_bytes(rank), layout.count, layout.item_shape};
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Copies exactly `wanted` bytes of the stream and demands its end, and with it the checksum, right behind them.
InputFile unpack(GzipReader& reader, std::int64_t wanted, const std::string& path, const std::string& scratch_folder) {
  const std::array<std::string, 2> folders = {folder_of(path), scratch_folder};
  ScratchFile scratch(folders, path);
  std::vector<std::uint8_t> piece(16384);
  std::int64_t done = 0;
  while (done < wanted) {
    const auto size = std::min(wanted - done, static_cast<std::int64_t>(piece.size()));
    const auto part = std::span(piece).first(static_cast<std::size_t>(size));
    const std::int64_t got = reader.read(part);
    done += got;
    require(got == size, path, ": unpacked, found ", done, " bytes behind the header, wanted ", wanted);
    scratch.append(part);
  }
  require(reader.read(std::span(piece).first(1)) == 0, path, ": unpacked, found more than ", wanted,
          " bytes behind the header, wanted no more than it states");
  return std::move(scratch).finish();
}

IdxArray open_compressed(const InputFile& file, int rank, const std::string& scratch_folder) {
  GzipReader reader(file);
  Header buffer;
  const auto header = std::span(buffer).first(static_cast<std::size_t>(header_bytes(rank)));
  const std::int64_t got = reader.read(header);
  require(got == header_bytes(rank), file.path(), ": unpacked, found ", got, " bytes, wanted a header of ",
          header_bytes(rank));
  const Layout layout = parse_header(header, rank, file.path());
  const std::int64_t possible = std::min(kMaxUnpackedBytes, file.size() * kMaxDeflateRatio);
  require(layout.bytes() <= possible, file.path(), ": the header states ", layout.bytes(), " bytes, wanted at most ",
          possible, " from ", file.size(), " compressed ones");
  return {unpack(reader, layout.bytes(), file.path(), scratch_folder), 0, layout.count, layout.item_shape};
}

}  // namespace

IdxArray open_idx(InputFile file, int rank, const std::string& scratch_folder) {
  ensure(rank >= 1 && rank <= kMaxRank, "open_idx: rank ", rank);
  if (is_gzip(file)) return open_compressed(file, rank, scratch_folder);
  return open_plain(std::move(file), rank);
}

}  // namespace thimble
