#include "formats/npy.h"

#include <gtest/gtest.h>

#include "formats/support.h"

namespace thimble {
namespace {

using namespace testing;

std::string npy(std::string_view dictionary, std::string_view data, char version = 1) {
  std::string text = std::string("\x93NUMPY") + version + '\0';
  text += {static_cast<char>(dictionary.size() & 0xff), static_cast<char>(dictionary.size() >> 8)};
  if (version > 1) text += std::string(2, '\0');
  return text + std::string(dictionary) + std::string(data);
}

std::string dictionary(std::string_view descr, std::string_view order, std::string_view shape) {
  return join_text("{'descr': '", descr, "', 'fortran_order': ", order, ", 'shape': ", shape, ", }\n");
}

std::string refusal_of_npy(std::string_view text) {
  return refusal([&] { parse_npy(text_source(text)); });
}

TEST(Npy, ArraysReadBackTheSame) {
  const TempFolder folder;
  const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  const std::vector<std::int32_t> integers = {-1, 2147483647};
  const std::vector<std::uint8_t> bytes = {7};
  write_npy<float>(folder / "f", Shape{2, 3}, floats);
  write_npy<std::int32_t>(folder / "i", Shape{2}, integers);
  write_npy<std::uint8_t>(folder / "u", Shape{}, bytes);
  write_npy<double>(folder / "e", Shape{0, 4}, std::vector<double>{});

  EXPECT_EQ(read_npy<float>(folder / "f").data, floats);
  EXPECT_EQ(read_npy<float>(folder / "f").shape, (Shape{2, 3}));
  EXPECT_EQ(read_npy<std::int32_t>(folder / "i").data, integers);
  EXPECT_EQ(read_npy<std::uint8_t>(folder / "u").data, bytes);
  EXPECT_EQ(read_npy<std::uint8_t>(folder / "u").shape, Shape{});
  EXPECT_EQ(read_npy<double>(folder / "e").shape, (Shape{0, 4}));
  EXPECT_NE(refusal([&] { read_npy<float>(folder / "i"); }).find("holds i32, wanted f32"), std::string::npos);
}

TEST(Npy, WritesWhatNumpyWrites) {
  const TempFolder folder;
  write_npy<std::uint8_t>(folder / "u", Shape{3}, std::vector<std::uint8_t>{1, 2, 3});
  const std::string text = read_text_file(folder / "u");
  std::string wanted =
      std::string("\x93NUMPY\x01\x00\x76\x00", 10) + "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }";
  wanted.resize(127, ' ');
  EXPECT_EQ(text, wanted + "\n\x01\x02\x03");
}

TEST(Npy, ReadsVersionsKeysInAnyOrderAndPieces) {
  const std::string any_order = "{\"shape\": (2, 2), 'fortran_order': False, 'descr': '<i4'}";
  for (const char version : {'\x01', '\x02', '\x03'}) {
    const NpyHeader header = parse_npy(text_source(npy(any_order, std::string(16, 'd'), version)));
    EXPECT_EQ(header.dtype, DType::i32);
    EXPECT_EQ(header.shape, (Shape{2, 2}));
  }
  const TempFolder folder;
  write_npy<float>(folder / "f", Shape{4}, std::vector<float>{1, 2, 3, 4});
  const NpyFile file(open_to_read(folder / "f"));
  float third = 0;
  file.read(8, std::as_writable_bytes(std::span(&third, 1)));
  EXPECT_EQ(third, 3);
  EXPECT_THROW(file.read(16, std::as_writable_bytes(std::span(&third, 1))), InternalError);
}

TEST(HostileNpy, CutAnywhereOrWithAnyByteChangedNeverCrashes) {
  const std::string whole = npy(dictionary("<f4", "False", "(2, 3)"), std::string(24, 'd'));
  ASSERT_EQ(refusal_of_npy(whole), "");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(refusal_of_npy(std::string_view(whole).substr(0, size)), "") << "cut to " << size << " bytes";
  for (std::size_t position = 0; position < whole.size() - 24; ++position) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = whole;
      changed[position] = static_cast<char>(value);
      refusal([&] { EXPECT_EQ(parse_npy(text_source(changed)).bytes(), 24); });
    }
  }
}

TEST(HostileNpy, ShapesAreChecked) {
  for (const char* shape :
       {"(-1,)", "(4)", "4", "(4", "(4,", "()x", "(4294967296, 4294967296)", "(0, 9223372036854775807, 9)",
        "(99999999999999999999,)", "(1, 1, 1, 1, 1, 1, 4)", "(4.0,)", "('4',)", "(4L,)", "(,)", "[4]"}) {
    EXPECT_NE(refusal_of_npy(npy(dictionary("|u1", "False", shape), "dddd")), "") << shape;
  }
  EXPECT_EQ(refusal_of_npy(npy(dictionary("|u1", "False", "(4,)"), "dddd")), "");
}

TEST(HostileNpy, TypesOrderAndKeysAreChecked) {
  for (const char* descr : {">f4", "=f4", "<f2", "<i8", "O", "|O", "f4", ""})
    EXPECT_NE(refusal_of_npy(npy(dictionary(descr, "False", "(1,)"), "dddd")), "") << descr;
  EXPECT_NE(refusal_of_npy(npy(dictionary("<f4", "True", "(1,)"), "dddd")), "");
  EXPECT_NE(refusal_of_npy(npy(dictionary("<f4", "0", "(1,)"), "dddd")), "");
  EXPECT_NE(refusal_of_npy(npy("{'descr': '<f4', 'shape': (1,)}", "dddd")), "");
  EXPECT_NE(refusal_of_npy(npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "dddd")), "");
  EXPECT_NE(refusal_of_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", "dddd")), "");
  EXPECT_NE(refusal_of_npy(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "dddd")), "");
  EXPECT_NE(refusal_of_npy(npy("", "")), "");
  EXPECT_NE(refusal_of_npy(npy("{'descr", "")), "");
  EXPECT_NE(refusal_of_npy(npy(dictionary("<f4", "False", "(1,)") + "{}", "dddd")), "");
}

TEST(HostileNpy, LengthsAreChecked) {
  EXPECT_NE(refusal_of_npy(std::string("\x93NUMPY\x01\x00\xff\xff", 10)), "");
  EXPECT_NE(refusal_of_npy(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)), "");
  EXPECT_NE(refusal_of_npy(std::string("\x93NUMPY\x02\x00\x00\x00", 10)), "");
  EXPECT_NE(refusal_of_npy(std::string("\x93NUMPY\x04\x00\x00\x00\x00\x00", 12)), "");
  EXPECT_NE(refusal_of_npy(npy(dictionary("<f4", "False", "(1,)"), "ddddd")), "");
}

}  // namespace
}  // namespace thimble
