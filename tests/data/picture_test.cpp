#include "data/picture.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "data/fake_pictures.h"
#include "data/jpeg_decoder.h"
#include "data/png_decoder.h"

namespace thimble {
namespace {

using namespace test;

const Shape kSample = {32, 32, 3};

ByteList read_file(const InputFile& file, const Shape& sample = kSample, const std::string& scratch_folder = "/tmp") {
  static std::vector<std::byte> workspace;
  workspace.resize(static_cast<std::size_t>(picture_workspace_bytes(sample)));
  ByteList pixels(static_cast<std::size_t>(sample.count()));
  read_picture(file, {}, sample, pixels, workspace, scratch_folder);
  return pixels;
}

// Reads the bytes as if they were the file it.jpg.
ByteList read_bytes(const ByteList& bytes, const Shape& sample = kSample, const std::string& scratch_folder = "/tmp") {
  Descriptor descriptor(::memfd_create("picture", MFD_CLOEXEC));
  EXPECT_EQ(::write(descriptor.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return read_file(InputFile(std::move(descriptor), "it.jpg"), sample, scratch_folder);
}

double mean_difference(const ByteList& a, const ByteList& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

TEST(Picture, AJpegLooksAsItWasPainted) {
  const Pixels picture = paint_smooth(256, 384);
  const ByteList wanted = read_bytes(encode_png(picture, PngKind::rgb), {224, 224, 3});
  EXPECT_LT(mean_difference(read_bytes(encode_jpeg(picture, JpegKind::baseline), {224, 224, 3}), wanted), 1.0);
}

TEST(Picture, AReducedJpegLooksTheSameToo) {
  const Pixels picture = paint_smooth(801, 1203);
  for (const std::int64_t side : {32, 64, 100, 200}) {
    const Shape sample{side, side, 3};
    const ByteList wanted = read_bytes(encode_png(picture, PngKind::rgb), sample);
    EXPECT_LT(mean_difference(read_bytes(encode_jpeg(picture, JpegKind::baseline), sample), wanted), 1.0) << side;
  }
}

TEST(Picture, JpegsInScansGiveTheBitsOfThoseInOnePass) {
  const Pixels picture = paint_smooth(150, 203);
  const ByteList wanted = read_bytes(encode_jpeg(picture, JpegKind::baseline));
  EXPECT_EQ(read_bytes(encode_jpeg(picture, JpegKind::progressive)), wanted);
  EXPECT_EQ(read_bytes(encode_jpeg(picture, JpegKind::two_scans)), wanted);
}

TEST(Picture, CoefficientsThatDoNotFitWaitInAScratchFile) {
  const Pixels picture = paint_smooth(900, 1100);  // 3 MB of coefficients in a workspace of 1 MiB
  for (const bool has_full_chroma : {false, true}) {
    const ByteList wanted = read_bytes(encode_jpeg(picture, JpegKind::baseline, 95, has_full_chroma));
    const TemporaryFolder scratch;
    const ByteList large = encode_jpeg(picture, JpegKind::progressive, 95, has_full_chroma);
    EXPECT_EQ(read_bytes(large, kSample, scratch.path()), wanted);
    EXPECT_EQ(scratch.entry_count(), 0);
    expect_user_error([&] { read_bytes(large, kSample, scratch.path() + "/none"); },
                      {"it.jpg", "scratch file", "TMPDIR"});
  }
}

TEST(Picture, AGreyJpegHasThreeEqualChannels) {
  const ByteList out = read_bytes(encode_jpeg(paint_smooth(64, 64), JpegKind::grey));
  for (std::size_t i = 0; i < out.size(); i += 3) {
    EXPECT_EQ(out[i], out[i + 1]);
    EXPECT_EQ(out[i], out[i + 2]);
  }
  EXPECT_LT(out.front(), out.back());
}

TEST(Picture, FourInksBecomeThreeColours) {
  const Pixels picture = paint_smooth(64, 64);
  const ByteList wanted = read_bytes(encode_png(picture, PngKind::rgb));
  // Without black, and inverted as Adobe writes them, inks are the colours.
  ByteList bytes = encode_jpeg(picture, JpegKind::cmyk);
  const ByteList marker = {0xff, 0xee};
  ASSERT_NE(std::search(bytes.begin(), bytes.end(), marker.begin(), marker.end()), bytes.end());
  EXPECT_LT(mean_difference(read_bytes(bytes), wanted), 2.0);
}

class PngOfKind : public testing::TestWithParam<PngKind> {};

TEST_P(PngOfKind, BecomesColoursOfEightBits) {
  const Pixels picture = paint_smooth(40, 44);
  const bool is_grey = GetParam() == PngKind::grey || GetParam() == PngKind::grey_alpha;
  const bool is_bits = GetParam() == PngKind::grey1 || GetParam() == PngKind::palette;
  const Pixels wanted = paint(40, 44, [&](std::int64_t y, std::int64_t x, std::int64_t c) -> int {
    constexpr int kLow[] = {10, 20, 30}, kHigh[] = {200, 150, 100};
    const bool is_high = picture.at(y, x, 0) >= 128;
    if (GetParam() == PngKind::palette) return (is_high ? kHigh : kLow)[c];
    if (is_bits) return is_high ? 255 : 0;
    return picture.at(y, x, is_grey ? 0 : c);
  });
  EXPECT_EQ(read_bytes(encode_png(picture, GetParam())), read_bytes(encode_png(wanted, PngKind::rgb)));
}

TEST_P(PngOfKind, InterlacedLooksTheSame) {
  for (const PictureSize size : {PictureSize{40, 44}, {1, 1}, {3, 2}, {9, 70}}) {
    const Pixels picture = paint_smooth(size.height, size.width);
    const ByteList wanted = read_bytes(encode_png(picture, GetParam()));
    const ByteList found = read_bytes(encode_png(picture, GetParam(), true));
    for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 1) << size.width << ' ' << i;
  }
}

INSTANTIATE_TEST_SUITE_P(, PngOfKind,
                         testing::Values(PngKind::rgb, PngKind::rgba, PngKind::grey, PngKind::grey_alpha,
                                         PngKind::grey1, PngKind::palette, PngKind::rgb16));

TEST(Picture, IsToldByItsBytesNotByItsName) {
  const TemporaryFolder folder;
  const std::string path = folder.write("photograph.jpg", encode_png(paint_smooth(20, 20), PngKind::rgb));
  EXPECT_EQ(read_file(InputFile(path)).size(), 3072U);
  for (const ByteList& bytes : {ByteList{}, ByteList{0xff}, ByteList(100, 'x')}) {
    expect_user_error([&] { read_bytes(bytes); }, {"it.jpg", "neither a JPEG nor a PNG"});
  }
}

// ---- Hostile files

TEST(Picture, ATruncatedFileIsRefusedByNameWhereverItEnds) {
  const Pixels picture = paint_smooth(60, 80);
  for (const ByteList& whole : {encode_jpeg(picture, JpegKind::baseline), encode_jpeg(picture, JpegKind::progressive),
                                encode_png(picture, PngKind::rgb), encode_png(picture, PngKind::rgb, true)}) {
    EXPECT_EQ(read_bytes(whole).size(), 3072U);
    for (std::size_t size = 0; size < whole.size(); size += size < 700 ? 3 : 97) {
      expect_user_error(
          [&] {
            read_bytes({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
          },
          {"it.jpg: "});
    }
  }
}

TEST(Picture, ADamagedFileIsRefusedOrReadButNeverEndsTheProgram) {
  const Pixels picture = paint_smooth(60, 80);
  const RandomKey key = random_key(2, RandomPurpose::test, 0);
  std::uint64_t draw = 0;
  int refused = 0;
  for (const ByteList& whole : {encode_jpeg(picture, JpegKind::baseline), encode_jpeg(picture, JpegKind::progressive),
                                encode_png(picture, PngKind::rgb), encode_png(picture, PngKind::palette, true)}) {
    for (int round = 0; round < 300; ++round) {
      ByteList bytes = whole;
      for (int hit = 0; hit < 3; ++hit, draw += 2) {
        bytes[random_below(key, draw, bytes.size())] = static_cast<std::uint8_t>(random_below(key, draw + 1, 256));
      }
      try {
        read_bytes(bytes);
      } catch (const UserError& error) {
        ++refused;
        EXPECT_NE(std::string(error.what()).find("it.jpg"), std::string::npos) << error.what();
      }
    }
  }
  EXPECT_GT(refused, 300);
}

// Where the frame header begins: FF C0, length, precision, height, width.
std::size_t frame_of(const ByteList& jpeg) {
  const ByteList marker = {0xff, 0xc0, 0x00, 0x11, 0x08};
  return static_cast<std::size_t>(std::search(jpeg.begin(), jpeg.end(), marker.begin(), marker.end()) - jpeg.begin());
}

TEST(Picture, AJpegThatClaimsTooMuchIsRefusedBeforeItIsDecoded) {
  ByteList bytes = encode_jpeg(paint_smooth(16, 16), JpegKind::baseline);
  const std::size_t frame = frame_of(bytes);
  const auto claim = [&](int height, int width) {
    bytes[frame + 5] = static_cast<std::uint8_t>(height >> 8);
    bytes[frame + 6] = static_cast<std::uint8_t>(height);
    bytes[frame + 7] = static_cast<std::uint8_t>(width >> 8);
    bytes[frame + 8] = static_cast<std::uint8_t>(width);
  };
  claim(65'000, 65'000);
  expect_user_error([&] { read_bytes(bytes); }, {"it.jpg", "65000x65000", "at most 268435456 pixels"});
  claim(40, 65'000);  // few pixels, but rows that no reduction helps
  expect_user_error([&] { read_bytes(bytes); }, {"it.jpg", "more than the", "bytes that are planned"});
  claim(0, 16);
  expect_user_error([&] { read_bytes(bytes); }, {"it.jpg"});
}

TEST(Picture, APngThatClaimsTooMuchIsRefusedBeforeItIsDecoded) {
  // A sound header of 65,500 x 65,500, and of 70,000 x 1, with right checksums: made by libpng, then cut behind it.
  const ByteList wide = encode_png(paint(1, 65'500, [](auto, auto, auto) { return 0; }), PngKind::rgba);
  expect_user_error([&] { read_bytes(wide); }, {"it.jpg", "more than the", "bytes that are planned"});
  const ByteList wider = encode_png(paint(1, 70'000, [](auto, auto, auto) { return 0; }), PngKind::grey1);
  expect_user_error([&] { read_bytes(wider); }, {"it.jpg", "width exceeds user limit", "Invalid IHDR"});
}

TEST(Picture, AJpegOfEndlessScansIsRefused) {
  // The last scan of a progressive picture, again and again: each may refine nothing and costs a walk through all.
  const ByteList whole = encode_jpeg(paint_smooth(40, 40), JpegKind::progressive);
  const ByteList marker = {0xff, 0xda};
  const auto last = std::find_end(whole.begin(), whole.end(), marker.begin(), marker.end());
  const ByteList scan(last, whole.end() - 2);
  ByteList bytes(whole.begin(), whole.end() - 2);
  for (int round = 0; round < 200; ++round) bytes = bytes + scan;
  bytes = bytes + ByteList{0xff, 0xd9};
  expect_user_error([&] { read_bytes(bytes); }, {"it.jpg"});
}

TEST(JpegDecoder, TakesNothingButItsWorkspace) {
  const TemporaryFolder folder;
  const InputFile file(folder.write("a.jpg", encode_jpeg(paint_smooth(50, 60), JpegKind::baseline)));
  // However little there is, it says so.
  int refused = 0;
  for (std::size_t size = 0; size < 120'000; size += 3'000) {
    std::vector<std::byte> block(size);
    Workspace workspace(block);
    try {
      JpegDecoder decoder(file, workspace, folder.path());
      decoder.start(1);
      for (int y = 0; y < 50; ++y) EXPECT_EQ(decoder.read_row().size(), 180U);
      decoder.finish();
    } catch (const UserError& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()).find("bytes that are planned"), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(refused, 3);
  EXPECT_LT(refused, 40);
}

TEST(PngDecoder, TakesNothingButItsWorkspace) {
  const TemporaryFolder folder;
  const InputFile file(folder.write("a.png", encode_png(paint_smooth(50, 60), PngKind::rgb)));
  int refused = 0;
  for (std::size_t size = 0; size < 120'000; size += 3'000) {
    std::vector<std::byte> block(size);
    Workspace workspace(block);
    try {
      PngDecoder decoder(file, workspace);
      decoder.start();
      std::int64_t rows = 0;
      for (PixelRow row; decoder.read_row(row);) EXPECT_EQ(row.row, rows++);
      EXPECT_EQ(rows, 50);
      decoder.finish();
    } catch (const UserError& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()).find("a.png"), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(refused, 3);
  EXPECT_LT(refused, 40);
}

}  // namespace
}  // namespace thimble
