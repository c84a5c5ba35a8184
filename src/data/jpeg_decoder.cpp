#include "data/jpeg_decoder.h"

#include <algorithm>
#include <cerrno>
#include <csetjmp>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "data/jpeg_memory.h"
// After jpeglib.h, which it needs.
#include <jerror.h>

namespace thimble {
namespace {

constexpr std::int64_t kReadBytes = 4096;
// A scan costs as much time as the picture is large: honest files have about ten.
constexpr int kMostScans = 100;

}  // namespace

struct JpegDecoder::State {
  State(const InputFile& input, Workspace& room, const std::string& scratch_folder)
      : file(input), workspace(room), memory(room, scratch_folder) {}

  const InputFile& file;
  Workspace& workspace;
  JpegMemory memory;
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};
  bool is_full = false;      // the workspace did not suffice
  std::int64_t offset = 0;   // in the file, of what follows the buffer
  JSAMPROW row = nullptr;    // (width, components)
  bool is_inverted = false;  // four components as Adobe writes them
  std::uint8_t buffer[kReadBytes];

  static State& of(j_common_ptr decoder) { return *static_cast<State*>(decoder->client_data); }
  static State& of(j_decompress_ptr decoder) { return *static_cast<State*>(decoder->client_data); }

  [[noreturn]] static void leave(j_common_ptr decoder) {
    State& state = of(decoder);
    state.is_full = state.errors.msg_code == JERR_OUT_OF_MEMORY;
    state.errors.format_message(decoder, state.message);
    const int code = state.errors.msg_code;
    if (code == JERR_TFILE_CREATE || code == JERR_TFILE_READ || code == JERR_TFILE_WRITE) {
      std::snprintf(state.message, sizeof(state.message),
                    "its scans need a scratch file, which failed (%s): make room, or set TMPDIR to another folder",
                    std::strerror(errno));
    }
    std::longjmp(state.jump, 1);
  }

  // Warnings are about the rest of a picture that libjpeg would make up; others are harmless.
  static void hear(j_common_ptr decoder, int level) {
    if (level >= 0) return;
    switch (of(decoder).errors.msg_code) {
      case JWRN_HIT_MARKER:
      case JWRN_HUFF_BAD_CODE:
      case JWRN_ARITH_BAD_CODE:
      case JWRN_BOGUS_PROGRESSION:
      case JWRN_MUST_RESYNC:
      case JWRN_JPEG_EOF: leave(decoder);
      default: return;
    }
  }
  static void stay_silent(j_common_ptr) {}

  static void count_scans(j_common_ptr decoder) {
    State& state = of(decoder);
    if (state.info.input_scan_number <= kMostScans) return;
    std::snprintf(state.message, sizeof(state.message), "found more than %d scans, wanted fewer", kMostScans);
    std::longjmp(state.jump, 1);
  }

  static boolean refill(j_decompress_ptr decoder) {
    State& state = of(decoder);
    const std::int64_t size = std::min(kReadBytes, state.file.size() - state.offset);
    if (!state.read(size)) std::longjmp(state.jump, 1);
    state.offset += size;
    state.source.next_input_byte = state.buffer;
    state.source.bytes_in_buffer = static_cast<std::size_t>(size);
    return TRUE;
  }

  // False with a message. Nothing may be thrown through libjpeg.
  bool read(std::int64_t size) noexcept {
    if (size <= 0) {
      std::snprintf(message, sizeof(message), "found the end of the file at offset %lld, wanted more of the picture",
                    static_cast<long long>(file.size()));
      return false;
    }
    try {
      file.read_at(offset, std::span(buffer).first(static_cast<std::size_t>(size)));
      return true;
    } catch (const std::exception& error) {
      std::snprintf(message, sizeof(message), "%s", error.what());
      return false;
    }
  }

  static void skip(j_decompress_ptr decoder, long count) {
    State& state = of(decoder);
    if (count <= 0) return;
    const auto wanted = static_cast<std::size_t>(count);
    const std::size_t here = std::min(wanted, state.source.bytes_in_buffer);
    state.source.next_input_byte += here;
    state.source.bytes_in_buffer -= here;
    state.offset += static_cast<std::int64_t>(wanted - here);
  }
  static void do_nothing(j_decompress_ptr) {}
};

// The body may leave by longjmp: it holds nothing that needs destroying.
template <typename Body>
void JpegDecoder::guard(Body body) {
  if (setjmp(state_->jump) == 0) {
    body();
    return;
  }
  if (state_->is_full) state_->workspace.fail(state_->file.path());
  fail_user(join_text(state_->file.path(), ": no sound JPEG: ", state_->message));
}

JpegDecoder::JpegDecoder(const InputFile& file, Workspace& workspace, const std::string& scratch_folder) {
  void* place = workspace.take(sizeof(State));
  if (place == nullptr) workspace.fail(file.path());
  state_ = new (place) State(file, workspace, scratch_folder);
  State& state = *state_;
  state.info.err = jpeg_std_error(&state.errors);
  state.errors.error_exit = State::leave;
  state.errors.emit_message = State::hear;
  state.errors.output_message = State::stay_silent;
  state.info.client_data = state_;
  state.source = {.next_input_byte = nullptr,
                  .bytes_in_buffer = 0,
                  .init_source = State::do_nothing,
                  .fill_input_buffer = State::refill,
                  .skip_input_data = State::skip,
                  .resync_to_restart = jpeg_resync_to_restart,
                  .term_source = State::do_nothing};
  try {
    read_header();
  } catch (...) {
    this->~JpegDecoder();
    throw;
  }
}

JpegDecoder::~JpegDecoder() {
  jpeg_destroy_decompress(&state_->info);
  std::destroy_at(state_);
}

void JpegDecoder::read_header() {
  State& state = *state_;
  guard([&state] {
    jpeg_create_decompress(&state.info);  // clears all but err and client_data
    state.memory.attach(reinterpret_cast<j_common_ptr>(&state.info));
    state.info.src = &state.source;
    state.progress.progress_monitor = State::count_scans;
    state.info.progress = &state.progress;
    jpeg_read_header(&state.info, TRUE);
  });
}

PictureSize JpegDecoder::size() const {
  return {static_cast<std::int64_t>(state_->info.image_height), static_cast<std::int64_t>(state_->info.image_width)};
}

void JpegDecoder::start(int divisor) {
  State& state = *state_;
  jpeg_decompress_struct& info = state.info;
  // Four components are turned into three by ourselves.
  const bool is_cmyk = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
  info.scale_num = 1;
  info.scale_denom = static_cast<unsigned>(divisor);
  info.do_block_smoothing = FALSE;  // it would want five rows of blocks at once, for the sake of unfinished pictures
  info.dct_method = JDCT_ISLOW;
  state.is_inverted = info.saw_Adobe_marker != 0;
  guard([&state] {
    jpeg_start_decompress(&state.info);
    const JDIMENSION row_bytes = state.info.output_width * static_cast<JDIMENSION>(state.info.output_components);
    state.row = *state.info.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&state.info), JPOOL_IMAGE, row_bytes, 1);
  });
}

std::span<std::uint8_t> JpegDecoder::read_row() {
  State& state = *state_;
  guard([&state] { jpeg_read_scanlines(&state.info, &state.row, 1); });
  const std::size_t width = state.info.output_width;
  if (state.info.output_components == 4) {
    const unsigned flip = state.is_inverted ? 0 : 255;
    for (std::size_t x = 0; x < width; ++x) {
      const std::uint8_t* ink = state.row + 4 * x;
      const unsigned light = ink[3] ^ flip;
      for (std::size_t c = 0; c < 3; ++c) {
        state.row[3 * x + c] = static_cast<std::uint8_t>(((ink[c] ^ flip) * light + 127) / 255);
      }
    }
  }
  return {state.row, 3 * width};
}

void JpegDecoder::finish() {
  State& state = *state_;
  guard([&state] { jpeg_finish_decompress(&state.info); });
}

bool is_jpeg(std::span<const std::uint8_t> first_bytes) {
  return first_bytes.size() >= 3 && first_bytes[0] == 0xff && first_bytes[1] == 0xd8 && first_bytes[2] == 0xff;
}

}  // namespace thimble
