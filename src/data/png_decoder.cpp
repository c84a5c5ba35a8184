#include "data/png_decoder.h"

#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "data/picture_limits.h"

namespace thimble {
namespace {

constexpr std::uint8_t kSignature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr png_alloc_size_t kMostChunkBytes = 64 << 10;  // of the few chunks that are read at all

}  // namespace

struct PngDecoder::State {
  State(const InputFile& input, Workspace& room) : file(input), workspace(room) {}

  const InputFile& file;
  Workspace& workspace;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf jump;
  char message[256] = {}, warning[128] = {};
  bool is_full = false;  // the workspace did not suffice
  std::int64_t offset = 0;
  std::span<std::uint8_t> row;  // (width, pixel_bytes)
  std::int64_t pixel_bytes = 3;
  int pass = 0;               // of an interlaced picture
  std::int64_t next_row = 0;  // within the pass

  bool is_interlaced() const { return png_get_interlace_type(png, info) != PNG_INTERLACE_NONE; }
  std::int64_t height() const { return png_get_image_height(png, info); }
  std::int64_t width() const { return png_get_image_width(png, info); }

  static void leave(png_structp png, png_const_charp text) {
    State& state = *static_cast<State*>(png_get_error_ptr(png));
    std::snprintf(state.message, sizeof(state.message), "%s", text);
    std::longjmp(state.jump, 1);
  }
  // Why something is refused is told as warnings before it.
  static void remember(png_structp png, png_const_charp text) {
    State& state = *static_cast<State*>(png_get_error_ptr(png));
    std::snprintf(state.warning, sizeof(state.warning), " (%s)", text);
  }

  static png_voidp take(png_structp png, png_alloc_size_t bytes) {
    State& state = *static_cast<State*>(png_get_mem_ptr(png));
    void* place = state.workspace.take(bytes);
    state.is_full |= place == nullptr;
    return place;
  }
  static void give_back(png_structp, png_voidp) {}  // the workspace goes as a whole

  static void read(png_structp png, png_bytep bytes, std::size_t size) {
    State& state = *static_cast<State*>(png_get_io_ptr(png));
    if (!state.read(bytes, size)) std::longjmp(state.jump, 1);
  }

  // False with a message. Nothing may be thrown through libpng.
  bool read(std::uint8_t* bytes, std::size_t size) noexcept {
    if (static_cast<std::int64_t>(size) > file.size() - offset) {
      std::snprintf(message, sizeof(message), "found the end of the file at offset %lld, wanted %zu bytes more",
                    static_cast<long long>(file.size()), size);
      return false;
    }
    try {
      file.read_at(offset, {bytes, size});
      offset += static_cast<std::int64_t>(size);
      return true;
    } catch (const std::exception& error) {
      std::snprintf(message, sizeof(message), "%s", error.what());
      return false;
    }
  }
};

// The body may leave by longjmp: it holds nothing that needs destroying.
template <typename Body>
void PngDecoder::guard(Body body) {
  if (setjmp(state_->jump) == 0) {
    body();
    return;
  }
  if (state_->is_full) state_->workspace.fail(state_->file.path());
  fail_user(join_text(state_->file.path(), ": no sound PNG: ", state_->message, state_->warning));
}

PngDecoder::PngDecoder(const InputFile& file, Workspace& workspace) {
  void* place = workspace.take(sizeof(State));
  if (place == nullptr) workspace.fail(file.path());
  state_ = new (place) State(file, workspace);
  try {
    read_header();
  } catch (...) {
    this->~PngDecoder();
    throw;
  }
}

PngDecoder::~PngDecoder() {
  png_destroy_read_struct(&state_->png, &state_->info, nullptr);
  std::destroy_at(state_);
}

void PngDecoder::read_header() {
  State& state = *state_;
  guard([&state] {
    state.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &state, State::leave, State::remember, &state,
                                         State::take, State::give_back);
    if (state.png != nullptr) state.info = png_create_info_struct(state.png);
    if (state.info == nullptr) {
      std::snprintf(state.message, sizeof(state.message), "libpng does not start");
      std::longjmp(state.jump, 1);
    }
    png_set_read_fn(state.png, &state, State::read);
    png_set_user_limits(state.png, kMostPictureSide, kMostPictureSide);
    png_set_chunk_malloc_max(state.png, kMostChunkBytes);
    // Of all chunks only those that make the picture are looked at.
    png_set_keep_unknown_chunks(state.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_read_info(state.png, state.info);
  });
}

PictureSize PngDecoder::size() const { return {state_->height(), state_->width()}; }

void PngDecoder::start() {
  State& state = *state_;
  guard([&state] {
    png_set_scale_16(state.png);
    png_set_palette_to_rgb(state.png);
    png_set_expand_gray_1_2_4_to_8(state.png);
    png_set_strip_alpha(state.png);
    png_set_gray_to_rgb(state.png);
    png_read_update_info(state.png, state.info);
  });
  take_row(3);
}

void PngDecoder::start_values() {
  State& state = *state_;
  const int type = png_get_color_type(state.png, state.info), bits = png_get_bit_depth(state.png, state.info);
  const bool has_values = type == PNG_COLOR_TYPE_GRAY || type == PNG_COLOR_TYPE_PALETTE;
  require(has_values && bits <= 8, state.file.path(), ": found ", has_values ? "grey values" : "colours", " of ", bits,
          " bits, wanted a PNG of grey or palette values of up to 8 bits");
  guard([&state] {
    png_set_packing(state.png);  // a byte for values of 1, 2 or 4 bits, which stay what they are
    png_read_update_info(state.png, state.info);
  });
  take_row(1);
}

void PngDecoder::take_row(std::int64_t pixel_bytes) {
  State& state = *state_;
  const auto row_bytes = static_cast<std::int64_t>(png_get_rowbytes(state.png, state.info));
  ensure(row_bytes == pixel_bytes * state.width(), state.file.path(), ": rows of ", row_bytes, " bytes, wanted ",
         pixel_bytes, " a pixel");
  state.pixel_bytes = pixel_bytes;
  state.row = state.workspace.take_array<std::uint8_t>(row_bytes, state.file.path());
}

bool PngDecoder::read_row(PixelRow& part) {
  State& state = *state_;
  const auto height = static_cast<png_uint_32>(state.height()), width = static_cast<png_uint_32>(state.width());
  std::int64_t columns = width;
  if (!state.is_interlaced()) {
    if (state.next_row == height) return false;
    part = {.row = state.next_row++, .column = 0, .step = 1, .pixels = {}};
  } else {
    // A pass without columns has no rows in the file either.
    while (state.pass < PNG_INTERLACE_ADAM7_PASSES &&
           (PNG_PASS_COLS(width, state.pass) == 0 || state.next_row == PNG_PASS_ROWS(height, state.pass))) {
      ++state.pass;
      state.next_row = 0;
    }
    if (state.pass == PNG_INTERLACE_ADAM7_PASSES) return false;
    columns = PNG_PASS_COLS(width, state.pass);
    part = {.row = PNG_PASS_START_ROW(state.pass) + (state.next_row++ << PNG_PASS_ROW_SHIFT(state.pass)),
            .column = PNG_PASS_START_COL(state.pass),
            .step = std::int64_t{1} << PNG_PASS_COL_SHIFT(state.pass),
            .pixels = {}};
  }
  guard([&state] { png_read_row(state.png, state.row.data(), nullptr); });
  part.pixels = state.row.first(static_cast<std::size_t>(state.pixel_bytes * columns));
  return true;
}

void PngDecoder::finish() {
  State& state = *state_;
  guard([&state] { png_read_end(state.png, nullptr); });
}

bool is_png(std::span<const std::uint8_t> first_bytes) {
  return first_bytes.size() >= sizeof(kSignature) &&
         std::equal(std::begin(kSignature), std::end(kSignature), first_bytes.begin());
}

}  // namespace thimble
