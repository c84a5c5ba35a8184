// How much heap the readers and writers take, counted: files are streamed, never held.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "formats/checkpoint_store.h"
#include "formats/json_lines.h"
#include "formats/json_text.h"
#include "formats/safetensors.h"
#include "formats/support.h"

namespace {

struct Heap {
  std::int64_t live = 0;
  std::int64_t peak = 0;
};
thread_local Heap heap;

void* take(std::size_t size) noexcept {
  void* block = std::malloc(size);
  heap.live += static_cast<std::int64_t>(::malloc_usable_size(block));
  heap.peak = std::max(heap.peak, heap.live);
  return block;
}

void give(void* block) noexcept {
  heap.live -= static_cast<std::int64_t>(::malloc_usable_size(block));
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) {
  void* block = take(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return take(size); }
void operator delete(void* block) noexcept { give(block); }
void operator delete(void* block, std::size_t) noexcept { give(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { give(block); }

namespace thimble {
namespace {

using namespace testing;

constexpr Bytes kSlack = 4 * kKiB;  // names, functions, a manifest

// The most heap that `action` held above what there was before.
template <typename Action>
Bytes peak_of(Action action) {
  heap.peak = heap.live;
  const Bytes before = heap.live;
  action();
  return heap.peak - before;
}

std::vector<TensorToStore> many_tensors(int count, std::int64_t rows) {
  std::vector<TensorToStore> tensors;
  for (int index = 0; index < count; ++index) {
    tensors.push_back({.name = join_text("model.layers.", index, ".weight"), .shape = Shape{rows, 16}, .produce = {}});
    tensors.back().produce = [](Bytes, std::span<std::byte> out) { std::fill(out.begin(), out.end(), std::byte{7}); };
  }
  return tensors;
}

Bytes header_bytes(const SafetensorsFile& file) { return file.table().at(0).begin; }

TEST(Heap, ALargeFileTakesAChunkToWriteAndToReadBack) {
  const TempFolder folder;
  const std::vector<TensorToStore> tensors = many_tensors(8, 32768);  // 16 MiB
  EXPECT_LE(peak_of([&] { publish_safetensors(folder / "m", tensors); }), kChunkBytes + kSlack);
  const Bytes peak = peak_of([&] {
    const SafetensorsFile file(open_to_read(folder / "m"));
    std::vector<std::byte> chunk(static_cast<std::size_t>(kChunkBytes));
    const StoredTensor tensor = file.get("model.layers.7.weight");
    for (Bytes offset = 0; offset < tensor.bytes; offset += kChunkBytes) file.read(tensor, offset, chunk);
  });
  EXPECT_LE(peak, kChunkBytes + kSlack);
}

TEST(Heap, AHeaderOfManyTensorsTakesNoMoreThanItsTextAndAChunk) {
  const TempFolder folder;
  const std::vector<TensorToStore> tensors = many_tensors(4000, 1);
  const Bytes pointers_and_names =
      4000 * (8 + 16 + 8 + 32);  // sorted, with the sorter's own buffer and the vectors' growth
  EXPECT_LE(peak_of([&] { publish_safetensors(folder / "m", tensors); }),
            2 * kChunkBytes + pointers_and_names + kSlack);
  Bytes text_bytes = 0;
  const Bytes peak = peak_of([&] {
    const SafetensorsFile file(open_to_read(folder / "m"));
    text_bytes = header_bytes(file);
  });
  EXPECT_GT(text_bytes, 300000);
  EXPECT_LE(peak, text_bytes + kChunkBytes);
}

TEST(Heap, ACheckpointIsSavedAndVerifiedInChunks) {
  const TempFolder folder;
  const std::vector<TensorToStore> tensors = many_tensors(8, 32768);
  const Bytes saving = peak_of([&] {
    CheckpointStore store(folder.path());
    store.save(1, [&](CheckpointWriter& writer) {
      writer.add("model.safetensors", [&](const ByteSink& sink) { write_safetensors(sink, tensors); });
    });
  });
  EXPECT_LE(saving, kChunkBytes + kSlack);
  const Bytes finding = peak_of([&] { ASSERT_TRUE(find_newest_complete(folder.path(), Check::hashes).newest); });
  EXPECT_LE(finding, kChunkBytes + kSlack);
}

TEST(Heap, ALongLogIsCutBackInChunks) {
  const TempFolder folder;
  std::string log;
  for (int iteration = 1; iteration <= 20000; ++iteration)
    log += JsonObject().integer("iteration", iteration).number("loss", 1.0 / iteration).to_string() + "\n";
  write_text_file(folder / "log", log);
  const Bytes peak =
      peak_of([&] { EXPECT_EQ(JsonLinesWriter(folder / "log").truncate_after(19999).lines_removed, 1); });
  EXPECT_LE(peak, kChunkBytes + kSlack);
}

TEST(Heap, HostileLengthsReserveNothing) {
  std::string text(8, '\0');
  text[3] = 1;  // a header of 16 MiB in a file of 10 bytes
  text += "{}";
  EXPECT_LE(peak_of([&] { EXPECT_NE(refusal([&] { parse_safetensors(text_source(text)); }), ""); }), kSlack);
}

}  // namespace
}  // namespace thimble
