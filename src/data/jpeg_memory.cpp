#include "data/jpeg_memory.h"

#include <jerror.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/nameless_file.h"

namespace thimble {
namespace {

// libjpeg's vector code reads and writes whole vectors: rows of samples are padded to twice its alignment.
constexpr std::size_t kRowMultiple = 64;
// What the decoder still asks for after the coefficients were placed: tables of later scans.
constexpr std::size_t kSpared = std::size_t{64} << 10;

[[noreturn]] void fail(j_common_ptr decoder, int code) {
  decoder->err->msg_code = code;
  decoder->err->error_exit(decoder);
  std::abort();  // error_exit does not return
}

template <typename Row, typename Item>
Row* make_rows(void* block, void* items, std::size_t row_bytes, std::size_t rows) {
  auto* list = static_cast<Row*>(block);
  for (std::size_t row = 0; row < rows; ++row) {
    list[row] = reinterpret_cast<Item>(static_cast<std::byte*>(items) + row * row_bytes);
  }
  return list;
}

// All of the bytes, or false.
template <typename Call>
bool transfer(Call call, std::byte* bytes, std::size_t size, std::int64_t offset) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t moved = call(bytes + done, size - done, offset + static_cast<std::int64_t>(done));
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    done += static_cast<std::size_t>(moved);
  }
  return true;
}

}  // namespace

// Blocks of coefficients that are asked for row by row.
struct JpegMemory::BlockArray {
  std::size_t row_bytes = 0;
  JDIMENSION rows = 0;
  std::int64_t file_offset = -1;   // below zero: all of it is in memory
  JBLOCKARRAY window = nullptr;    // row pointers
  std::byte* blocks = nullptr;     // what they point into
  JDIMENSION window_rows = 0;      // room
  JDIMENSION first = 0, held = 0;  // which rows are in the window
  bool is_dirty = false;
  BlockArray* next = nullptr;

  std::size_t bytes() const { return row_bytes * rows; }
};

// The functions that libjpeg calls.
struct JpegMemoryCalls {
  static JpegMemory& of(j_common_ptr decoder) { return *static_cast<JpegMemory*>(decoder->mem); }

  static void* take(j_common_ptr decoder, int, std::size_t bytes) { return of(decoder).take(decoder, bytes); }

  static JSAMPARRAY samples(j_common_ptr decoder, int, JDIMENSION width, JDIMENSION rows) {
    const std::size_t row_bytes = (width * sizeof(JSAMPLE) + kRowMultiple - 1) / kRowMultiple * kRowMultiple;
    void* list = of(decoder).take(decoder, rows * sizeof(JSAMPROW));
    return make_rows<JSAMPROW, JSAMPROW>(list, of(decoder).take(decoder, row_bytes * rows), row_bytes, rows);
  }

  static JBLOCKARRAY blocks(j_common_ptr decoder, int, JDIMENSION width, JDIMENSION rows) {
    const std::size_t row_bytes = width * sizeof(JBLOCK);
    void* list = of(decoder).take(decoder, rows * sizeof(JBLOCKROW));
    return make_rows<JBLOCKROW, JBLOCKROW>(list, of(decoder).take(decoder, row_bytes * rows), row_bytes, rows);
  }

  // Only colour quantisation in two passes asks for these, and we never ask for it.
  static jvirt_sarray_ptr request_samples(j_common_ptr decoder, int, boolean, JDIMENSION, JDIMENSION, JDIMENSION) {
    fail(decoder, JERR_NOT_COMPILED);
  }
  static JSAMPARRAY access_samples(j_common_ptr decoder, jvirt_sarray_ptr, JDIMENSION, JDIMENSION, boolean) {
    fail(decoder, JERR_NOT_COMPILED);
  }

  static jvirt_barray_ptr request_blocks(j_common_ptr decoder, int, boolean is_zeroed, JDIMENSION blocks,
                                         JDIMENSION rows, JDIMENSION) {
    return reinterpret_cast<jvirt_barray_ptr>(of(decoder).request(decoder, is_zeroed != 0, blocks, rows));
  }
  static JBLOCKARRAY access_blocks(j_common_ptr decoder, jvirt_barray_ptr array, JDIMENSION first, JDIMENSION count,
                                   boolean is_written) {
    auto& block_array = *reinterpret_cast<JpegMemory::BlockArray*>(array);
    return of(decoder).access(decoder, block_array, first, count, is_written != 0);
  }
  static void realize(j_common_ptr decoder) { of(decoder).realize(decoder); }

  static void free_pool(j_common_ptr, int) {}  // the workspace goes as a whole
  // What was taken before we stood in goes back to where it came from.
  static void destroy(j_common_ptr decoder) {
    decoder->mem = of(decoder).original_;
    decoder->mem->self_destruct(decoder);
  }
};

JpegMemory::JpegMemory(Workspace& workspace, const std::string& scratch_folder)
    : jpeg_memory_mgr{.alloc_small = JpegMemoryCalls::take,
                      .alloc_large = JpegMemoryCalls::take,
                      .alloc_sarray = JpegMemoryCalls::samples,
                      .alloc_barray = JpegMemoryCalls::blocks,
                      .request_virt_sarray = JpegMemoryCalls::request_samples,
                      .request_virt_barray = JpegMemoryCalls::request_blocks,
                      .realize_virt_arrays = JpegMemoryCalls::realize,
                      .access_virt_sarray = JpegMemoryCalls::access_samples,
                      .access_virt_barray = JpegMemoryCalls::access_blocks,
                      .free_pool = JpegMemoryCalls::free_pool,
                      .self_destruct = JpegMemoryCalls::destroy,
                      .max_memory_to_use = 0,
                      .max_alloc_chunk = 0},
      workspace_(workspace),
      scratch_folder_(scratch_folder) {}

void JpegMemory::attach(j_common_ptr decoder) {
  original_ = decoder->mem;
  decoder->mem = this;
}

void* JpegMemory::take(j_common_ptr decoder, std::size_t bytes) {
  void* place = workspace_.take(bytes);
  if (place == nullptr) fail(decoder, JERR_OUT_OF_MEMORY);
  return place;
}

JpegMemory::BlockArray* JpegMemory::request(j_common_ptr decoder, bool is_zeroed, JDIMENSION blocks, JDIMENSION rows) {
  if (!is_zeroed) fail(decoder, JERR_NOT_COMPILED);  // a decoder always wants zeros; the scratch file starts with them
  arrays_ = new (take(decoder, sizeof(BlockArray)))
      BlockArray{.row_bytes = blocks * sizeof(JBLOCK), .rows = rows, .next = arrays_};
  return arrays_;
}

void JpegMemory::realize(j_common_ptr decoder) {
  std::size_t wanted = kSpared;
  for (const BlockArray* array = arrays_; array != nullptr; array = array->next) {
    wanted += array->bytes() + array->rows * sizeof(JBLOCKROW) + 2 * Workspace::kAlignment;
  }
  const bool fits = wanted <= workspace_.left();
  std::int64_t file_bytes = 0;
  for (BlockArray* array = arrays_; array != nullptr; array = array->next) {
    if (fits) {
      open_window(decoder, *array, array->rows);
      std::memset(array->blocks, 0, array->bytes());
      array->held = array->rows;
    } else {
      array->file_offset = file_bytes;
      file_bytes += static_cast<std::int64_t>(array->bytes());
    }
  }
  if (fits || arrays_ == nullptr) return;
  if (file_bytes > kMostCoefficientBytes) fail(decoder, JERR_OUT_OF_MEMORY);
  scratch_ = Descriptor(open_nameless(scratch_folder_));
  if (!scratch_.is_open()) fail(decoder, JERR_TFILE_CREATE);
  if (::ftruncate(scratch_.get(), file_bytes) != 0) fail(decoder, JERR_TFILE_WRITE);
}

void JpegMemory::open_window(j_common_ptr decoder, BlockArray& array, JDIMENSION count) {
  void* list = take(decoder, count * sizeof(JBLOCKROW));
  array.blocks = static_cast<std::byte*>(take(decoder, count * array.row_bytes));
  array.window = make_rows<JBLOCKROW, JBLOCKROW>(list, array.blocks, array.row_bytes, count);
  array.window_rows = count;
}

JBLOCKARRAY JpegMemory::access(j_common_ptr decoder, BlockArray& array, JDIMENSION first, JDIMENSION count,
                               bool is_written) {
  if (first > array.rows || count > array.rows - first) fail(decoder, JERR_BAD_VIRTUAL_ACCESS);
  if (array.file_offset < 0) return array.window + first;
  if (array.held != count || array.first != first) {
    flush(decoder, array);
    if (count > array.window_rows) open_window(decoder, array, count);
    const auto call = [&](std::byte* bytes, std::size_t size, std::int64_t offset) {
      return ::pread(scratch_.get(), bytes, size, offset);
    };
    const std::int64_t offset = array.file_offset + static_cast<std::int64_t>(first * array.row_bytes);
    if (!transfer(call, array.blocks, count * array.row_bytes, offset)) fail(decoder, JERR_TFILE_READ);
    array.first = first;
    array.held = count;
  }
  array.is_dirty |= is_written;
  return array.window;
}

void JpegMemory::flush(j_common_ptr decoder, BlockArray& array) {
  if (!array.is_dirty) return;
  const auto call = [&](std::byte* bytes, std::size_t size, std::int64_t offset) {
    return ::pwrite(scratch_.get(), bytes, size, offset);
  };
  const std::int64_t offset = array.file_offset + static_cast<std::int64_t>(array.first * array.row_bytes);
  if (!transfer(call, array.blocks, array.held * array.row_bytes, offset)) fail(decoder, JERR_TFILE_WRITE);
  array.is_dirty = false;
}

}  // namespace thimble
