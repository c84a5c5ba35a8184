#include "data/tar.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "formats/file.h"

namespace thimble {
namespace {

constexpr std::int64_t kBlock = 512;
constexpr std::size_t kPieceBytes = 16384;
using Header = std::array<std::uint8_t, kBlock>;

// Where the fields of a header lie (POSIX ustar).
struct Field {
  std::size_t at, size;
};
constexpr Field kName = {0, 100}, kSize = {124, 12}, kSum = {148, 8}, kKind = {156, 1}, kPrefix = {345, 155};

std::string text_of(const Header& header, Field field) {
  const auto* begin = header.data() + field.at;
  return {begin, std::find(begin, begin + field.size, 0)};
}

std::int64_t octal_of(const Header& header, Field field, const std::string& archive, const char* what) {
  std::int64_t value = 0;
  bool has_digit = false;
  for (std::size_t i = field.at; i < field.at + field.size; ++i) {
    const std::uint8_t letter = header[i];
    if (letter == ' ' && !has_digit) continue;
    if (letter == ' ' || letter == 0) break;
    require(letter >= '0' && letter <= '7', archive, ": found no octal ", what, " in a header, wanted one");
    value = value * 8 + (letter - '0');
    has_digit = true;
  }
  return value;
}

void check_sum(const Header& header, const std::string& archive) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const bool is_sum = i >= kSum.at && i < kSum.at + kSum.size;
    sum += is_sum ? ' ' : header[i];
  }
  const std::int64_t stated = octal_of(header, kSum, archive, "checksum");
  require(sum == stated, archive, ": found a header whose bytes sum to ", sum, ", wanted ", stated, " as it states");
}

class TarReader {
 public:
  TarReader(const ByteReader& read, const std::string& archive) : read_(read), archive_(archive), piece_(kPieceBytes) {}

  // False at the end of the archive: a block of zeros, or no more blocks.
  bool next(Header& header) {
    const std::int64_t got = read_(header);
    if (got == 0) return false;
    require(got == kBlock, archive_, ": found ", got, " bytes of a header, wanted ", kBlock);
    if (std::all_of(header.begin(), header.end(), [](std::uint8_t byte) { return byte == 0; })) return false;
    check_sum(header, archive_);
    return true;
  }

  // Hands out `size` bytes and passes over what fills the last block.
  void contents(std::int64_t size, const std::function<void(std::span<const std::uint8_t>)>& take) {
    const std::int64_t padded = (size + kBlock - 1) / kBlock * kBlock;
    for (std::int64_t done = 0; done < padded;) {
      const auto count = std::min(padded - done, static_cast<std::int64_t>(kPieceBytes));
      const auto part = std::span(piece_).first(static_cast<std::size_t>(count));
      const std::int64_t got = read_(part);
      require(got == count, archive_, ": ends inside a file, found ", done + got, " bytes of it, wanted ", size);
      const std::int64_t wanted = std::min(count, std::max<std::int64_t>(0, size - done));
      take(part.first(static_cast<std::size_t>(wanted)));
      done += count;
    }
  }

 private:
  const ByteReader& read_;
  const std::string& archive_;
  std::vector<std::uint8_t> piece_;
};

// The file's own name if it lies in the folder and nowhere else.
std::string name_within(const std::string& folder, const std::string& path, const std::string& archive) {
  std::string name = path.starts_with("./") ? path.substr(2) : path;
  const std::string before = folder + "/";
  const bool is_within = name.starts_with(before);
  if (is_within) name = name.substr(before.size());
  require(is_within && !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos, archive,
          ": found '", path, "', wanted nothing but files in ", before);
  return name;
}

void write_file(TarReader& reader, std::int64_t size, const std::string& path) {
  const File file = create_new(path);
  Bytes written = 0;
  reader.contents(size, [&](std::span<const std::uint8_t> bytes) {
    write_at(file, written, std::as_bytes(bytes));
    written += static_cast<Bytes>(bytes.size());
  });
  sync(file);
}

}  // namespace

void unpack_tar(const ByteReader& read, const std::string& archive, const std::string& inner_folder,
                const std::string& into, const TarLimits& limits) {
  TarReader reader(read, archive);
  std::int64_t files = 0, bytes = 0;
  for (Header header; reader.next(header);) {
    const std::string prefix = text_of(header, kPrefix), own = text_of(header, kName);
    const std::string path = prefix.empty() ? own : prefix + "/" + own;
    const std::int64_t size = octal_of(header, kSize, archive, "size");
    const char kind = static_cast<char>(header[kKind.at]);
    const bool is_file = kind == '0' || kind == 0, is_folder = kind == '5', is_note = kind == 'x' || kind == 'g';
    require(is_file || is_folder || is_note, archive, ": found '", path, "' of kind '", std::string(1, kind),
            "', wanted plain files");
    bytes += size;
    require(++files <= limits.files && bytes <= limits.bytes, archive, ": found more than ", limits.files, " files or ",
            limits.bytes, " bytes, wanted fewer");
    if (is_file) {
      write_file(reader, size, into + "/" + name_within(inner_folder, path, archive));
    } else {
      reader.contents(size, [](std::span<const std::uint8_t>) {});
    }
  }
  require(files > 0, archive, ": found nothing in it, wanted files in ", inner_folder, "/");
}

}  // namespace thimble
