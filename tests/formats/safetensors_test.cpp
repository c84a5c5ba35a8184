#include "formats/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "formats/support.h"

namespace thimble {
namespace {

using namespace testing;

template <typename Element>
TensorToStore stored(std::string name, StoredType type, Shape shape, const std::vector<Element>& data) {
  const auto bytes = std::as_bytes(std::span(data));
  return {.name = std::move(name),
          .type = type,
          .shape = shape,
          .produce = [bytes](Bytes offset, std::span<std::byte> out) {
            std::copy_n(bytes.begin() + offset, out.size(), out.begin());
          }};
}

template <typename Element>
std::vector<Element> load(const SafetensorsFile& file, std::string_view name) {
  const StoredTensor tensor = file.get(name);
  std::vector<Element> data(static_cast<std::size_t>(tensor.bytes) / sizeof(Element));
  file.read(tensor, 0, std::as_writable_bytes(std::span(data)));
  return data;
}

std::vector<float> ramp(std::size_t count) {
  std::vector<float> data(count);
  std::iota(data.begin(), data.end(), 0.0F);
  return data;
}

TEST(Safetensors, TensorsAndMetadataReadBackTheSame) {
  const TempFolder folder;
  const std::vector<float> weight = ramp(100000);  // several chunks
  const std::vector<std::uint8_t> mask = {1, 0, 1};
  const std::vector<double> scale = {0.5};
  const std::vector<TensorToStore> tensors = {stored("mask", StoredType::u8, Shape{3}, mask),
                                              stored("layer.weight", StoredType::f32, Shape{100, 1000}, weight),
                                              stored("scale", StoredType::f64, Shape{}, scale),
                                              stored("empty", StoredType::f32, Shape{0, 5}, std::vector<float>{})};
  const Metadata metadata = {{"format", "pt"}, {"note", "line\n\"quoted\""}};
  publish_safetensors(folder / "model.safetensors", tensors, metadata);

  const SafetensorsFile file(open_to_read(folder / "model.safetensors"));
  ASSERT_EQ(file.table().count(), 4);
  EXPECT_EQ(file.table().metadata(), metadata);
  EXPECT_EQ(load<float>(file, "layer.weight"), weight);
  EXPECT_EQ(load<std::uint8_t>(file, "mask"), mask);
  EXPECT_EQ(load<double>(file, "scale"), scale);
  EXPECT_EQ(file.get("empty").shape, (Shape{0, 5}));
  EXPECT_EQ(file.get("layer.weight").shape, (Shape{100, 1000}));
  EXPECT_FALSE(file.table().find("absent").has_value());
  EXPECT_NE(refusal([&] { file.get("absent"); }), "");
}

TEST(Safetensors, ReadsAnyPieceOfATensor) {
  const TempFolder folder;
  const std::vector<float> data = ramp(1000);
  publish_safetensors(folder / "m", std::vector{stored("x", StoredType::f32, Shape{1000}, data)});
  const SafetensorsFile file(open_to_read(folder / "m"));
  const StoredTensor x = file.get("x");
  std::array<float, 3> piece{};
  file.read(x, 4 * 997, std::as_writable_bytes(std::span(piece)));
  EXPECT_EQ(piece, (std::array<float, 3>{997, 998, 999}));
  EXPECT_THROW(file.read(x, 4 * 998, std::as_writable_bytes(std::span(piece))), InternalError);
  EXPECT_THROW(file.read(x, -4, std::as_writable_bytes(std::span(piece))), InternalError);
}

TEST(Safetensors, EveryTensorLiesAlignedToItsElement) {
  const TempFolder folder;
  const std::vector<std::uint8_t> byte = {1};
  const std::vector<float> one = {1};
  const std::vector<double> two = {2};
  const std::vector<TensorToStore> tensors = {stored("a", StoredType::u8, Shape{1}, byte),
                                              stored("b", StoredType::f32, Shape{1}, one),
                                              stored("c", StoredType::f64, Shape{1}, two)};
  publish_safetensors(folder / "m", tensors);
  const SafetensorsFile file(open_to_read(folder / "m"));
  for (const char* name : {"a", "b", "c"}) {
    const StoredTensor tensor = file.get(name);
    EXPECT_EQ(tensor.begin % bytes_of(tensor.type), 0) << name;
  }
}

TEST(Safetensors, HoldsNoMoreThanAChunkWhileWriting) {
  Bytes largest = 0;
  Bytes total = 0;
  TensorToStore tensor{.name = "x", .type = StoredType::f32, .shape = Shape{1 << 20}, .produce = {}};
  tensor.produce = [&](Bytes, std::span<std::byte> out) { std::fill(out.begin(), out.end(), std::byte{1}); };
  write_safetensors(
      [&](std::span<const std::byte> bytes) {
        largest = std::max(largest, static_cast<Bytes>(bytes.size()));
        total += static_cast<Bytes>(bytes.size());
      },
      std::span(&tensor, 1));
  EXPECT_EQ(largest, kChunkBytes);
  EXPECT_GT(total, 4 << 20);
}

// The bytes that the format's description asks for, spelled out.
TEST(Safetensors, WritesTheFormatToTheByte) {
  std::string written;
  const std::vector<float> data = {1.0F, 2.0F};
  write_safetensors(
      [&](std::span<const std::byte> bytes) {
        written.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      },
      std::vector{stored("w", StoredType::f32, Shape{2}, data)}, {{"k", "v"}});
  const std::string header = R"({"__metadata__":{"k":"v"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  ASSERT_EQ(header.size(), 79U);
  EXPECT_EQ(written, std::string("\x50\0\0\0\0\0\0\0", 8) + header + " " + std::string("\0\0\x80\x3f\0\0\0\x40", 8));
}

// As the Python library lays a file out: metadata first, names in no order of offsets, spaces behind.
TEST(Safetensors, ReadsTheLayoutOfThePythonLibrary) {
  std::string header = R"({"__metadata__":{"format":"pt"},"bias":{"dtype":"F32","shape":[2],"data_offsets":[16,24]},)"
                       R"("num_batches_tracked":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
                       R"("half":{"dtype":"BF16","shape":[1,2],"data_offsets":[24,28]},)"
                       R"("weight":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]}})";
  while (header.size() % 8 != 0) header += ' ';
  std::string file_text(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(file_text.data(), &length, sizeof(length));
  file_text += header;
  const std::int64_t tracked = 42;
  const std::array<float, 4> numbers = {1.5F, -2.5F, 3.5F, 4.5F};
  file_text.append(reinterpret_cast<const char*>(&tracked), sizeof(tracked));
  file_text.append(reinterpret_cast<const char*>(numbers.data()), sizeof(numbers));
  file_text += std::string("\x80\x3f\x00\x40", 4);

  const TempFolder folder;
  write_text_file(folder / "m", file_text);
  const SafetensorsFile file(open_to_read(folder / "m"));
  EXPECT_EQ(load<float>(file, "weight"), (std::vector<float>{1.5F, -2.5F}));
  EXPECT_EQ(load<float>(file, "bias"), (std::vector<float>{3.5F, 4.5F}));
  EXPECT_EQ(load<std::int64_t>(file, "num_batches_tracked"), std::vector<std::int64_t>{42});
  EXPECT_EQ(load<std::uint16_t>(file, "half"), (std::vector<std::uint16_t>{0x3f80, 0x4000}));
  EXPECT_EQ(file.get("half").shape, (Shape{1, 2}));
  EXPECT_EQ(file.get("num_batches_tracked").shape, Shape{});
  EXPECT_EQ(dtype_of(file.get("half").type), DType::bf16);
  EXPECT_EQ(dtype_of(file.get("num_batches_tracked").type), std::nullopt);
}

TEST(Safetensors, TypesAreNamedAsInTheFile) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64, DType::i32, DType::u8}) {
    EXPECT_EQ(dtype_of(stored_type(dtype)), dtype);
    EXPECT_EQ(bytes_of(stored_type(dtype)), bytes_of(dtype));
    EXPECT_EQ(stored_type_from_name(name_of(stored_type(dtype))), stored_type(dtype));
  }
  EXPECT_EQ(stored_type_from_name("F4"), std::nullopt);
}

TEST(Safetensors, RefusesToWriteWhatItCouldNotRead) {
  const auto write = [](const std::vector<std::string>& names) {
    std::vector<TensorToStore> tensors;
    for (const std::string& name : names) tensors.push_back({.name = name, .shape = Shape{0}, .produce = {}});
    write_safetensors([](std::span<const std::byte>) {}, tensors);
  };
  EXPECT_NO_THROW(write({"a", "b"}));
  EXPECT_THROW(write({"a", "a"}), InternalError);
  EXPECT_THROW(write({"__metadata__"}), InternalError);
  EXPECT_THROW(write({"\xff"}), InternalError);
  EXPECT_THROW(write({std::string(513, 'x')}), InternalError);
}

TEST(Safetensors, AFailureWhileWritingLeavesNothing) {
  const TempFolder folder;
  TensorToStore tensor{.name = "x", .shape = Shape{100000}, .produce = {}};
  tensor.produce = [](Bytes offset, std::span<std::byte>) { require(offset == 0, "the source broke"); };
  EXPECT_EQ(refusal([&] { publish_safetensors(folder / "m", std::span(&tensor, 1)); }), "the source broke");
  EXPECT_TRUE(names_in(folder.path()).empty());
}

}  // namespace
}  // namespace thimble
