#include "data/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace thimble {

struct GzipReader::State {
  z_stream stream{};
  std::int64_t offset = 0;  // in the file, of the next refill
  bool at_end = false;
  std::array<std::uint8_t, 16384> input;
};

bool is_gzip(const InputFile& file) {
  std::array<std::uint8_t, 2> magic{};
  if (file.size() < 2) return false;
  file.read_at(0, magic);
  return magic[0] == 0x1f && magic[1] == 0x8b;
}

GzipReader::GzipReader(const InputFile& file) : file_(file), state_(std::make_unique<State>()) {
  constexpr int kGzipOnly = 16;  // zlib's flag: a gzip header and checksum, not zlib's own
  ensure(inflateInit2(&state_->stream, kGzipOnly + MAX_WBITS) == Z_OK, "zlib does not start");
}

GzipReader::~GzipReader() { inflateEnd(&state_->stream); }

void GzipReader::refill() {
  const std::int64_t left = file_.size() - state_->offset;
  require(left > 0, file_.path(), ": at offset ", file_.size(),
          " found the end of the file, wanted more of the gzip stream");
  const auto size = std::min(left, static_cast<std::int64_t>(state_->input.size()));
  file_.read_at(state_->offset, std::span(state_->input).first(static_cast<std::size_t>(size)));
  state_->offset += size;
  state_->stream.next_in = state_->input.data();
  state_->stream.avail_in = static_cast<uInt>(size);
}

std::int64_t GzipReader::read(std::span<std::uint8_t> into) {
  z_stream& stream = state_->stream;
  stream.next_out = into.data();
  stream.avail_out = static_cast<uInt>(into.size());
  while (stream.avail_out > 0 && !state_->at_end) {
    if (stream.avail_in == 0) refill();
    const int result = inflate(&stream, Z_NO_FLUSH);
    const std::int64_t place = state_->offset - stream.avail_in;
    require(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR, file_.path(), ": at offset ", place,
            " found ", stream.msg != nullptr ? stream.msg : "no gzip data", ", wanted a valid gzip stream");
    if (result != Z_STREAM_END) continue;
    state_->at_end = true;
    require(place == file_.size(), file_.path(), ": at offset ", place, " found ", file_.size() - place,
            " bytes behind the gzip stream, wanted none");
  }
  return static_cast<std::int64_t>(into.size()) - stream.avail_out;
}

}  // namespace thimble
