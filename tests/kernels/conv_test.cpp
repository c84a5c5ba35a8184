// The three convolution kernels against their references: shapes that meet every path of the blocking, all element
// types.
#include "kernels/product_check.h"

namespace thimble {
namespace {

struct ConvCase {
  std::int64_t batch, height, width, channels, outs, kernel_height, kernel_width;
  std::int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
};

Shape x_shape(const ConvCase& c) { return {c.batch, c.height, c.width, c.channels}; }
Shape w_shape(const ConvCase& c) { return {c.kernel_height, c.kernel_width, c.channels / c.groups, c.outs}; }

Attributes window(const ConvCase& c) {
  return {{"stride", c.stride}, {"padding", c.padding}, {"dilation", c.dilation}, {"groups", c.groups}};
}

Shape y_shape(const ConvCase& c) {
  const auto windows = [&](std::int64_t size, std::int64_t kernel) {
    return (size + 2 * c.padding - c.dilation * (kernel - 1) - 1) / c.stride + 1;
  };
  return {c.batch, windows(c.height, c.kernel_height), windows(c.width, c.kernel_width), c.outs};
}

void check_forward(const ConvCase& c, DType x, DType w) {
  check_products("conv2d", {{x, x_shape(c)}, {w, w_shape(c)}}, window(c));
}

void check_grad_input(const ConvCase& c, DType y, DType w) {
  Attributes attributes = window(c);
  attributes.set("height", c.height);
  attributes.set("width", c.width);
  check_products("conv2d_grad_input", {{y, y_shape(c)}, {w, w_shape(c)}}, attributes);
}

void check_grad_weight(const ConvCase& c, DType x, DType y, DType w) {
  Attributes attributes = window(c);
  attributes.set("kernel_height", c.kernel_height);
  attributes.set("kernel_width", c.kernel_width);
  attributes.set("dtype", std::string(name_of(w)));
  check_products("conv2d_grad_weight", {{x, x_shape(c)}, {y, y_shape(c)}}, attributes);
  check_products("conv2d_add_grad_weight", {{w, w_shape(c)}, {x, x_shape(c)}, {y, y_shape(c)}}, window(c));
  attributes = window(c);
  attributes.set("rule", std::string("sgd"));
  check_products("conv2d_update_weight", {{w, w_shape(c)}, {x, x_shape(c)}, {y, y_shape(c)}}, attributes);
}

void check_all(const ConvCase& c) {
  for (const DType dtype : kStored) {
    check_forward(c, dtype, dtype);
    check_grad_input(c, dtype, dtype);
    check_grad_weight(c, dtype, dtype, dtype);
  }
}

// Of a tensor that is normalised on the way, by statistics of the batch or of every sample's own groups.
void check_normalized(const ConvCase& c, std::int64_t norm_groups, const std::string& activation, DType dtype) {
  const Shape statistic = norm_groups == 0 ? Shape{c.channels} : Shape{c.batch, norm_groups};
  const auto operands = [&](const std::vector<Type>& first, const std::vector<Type>& last) {
    std::vector<Type> all = first;
    all.insert(all.end(), {{dtype, x_shape(c)}, {DType::f32, statistic}, {DType::f32, statistic}});
    all.insert(all.end(), {{DType::f32, {c.channels}}, {DType::f32, {c.channels}}});
    all.insert(all.end(), last.begin(), last.end());
    return all;
  };
  const Type w{dtype, w_shape(c)}, y{dtype, y_shape(c)};
  Attributes attributes = window(c);
  attributes.set("norm_groups", norm_groups);
  attributes.set("norm_activation", activation);
  check_products("norm_conv2d", operands({}, {w}), attributes);
  check_products("norm_conv2d_add_grad_weight", operands({w}, {y}), attributes);
  attributes.set("kernel_height", c.kernel_height);
  attributes.set("kernel_width", c.kernel_width);
  attributes.set("dtype", std::string(name_of(dtype)));
  check_products("norm_conv2d_grad_weight", operands({}, {y}), attributes);
  Attributes updating = window(c);
  updating.set("norm_groups", norm_groups);
  updating.set("norm_activation", activation);
  updating.set("rule", std::string("sgd"));
  check_products("norm_conv2d_update_weight", operands({w}, {y}), updating);
}

TEST(Conv, AgreesOnWideResNetShapes) {
  check_all({2, 32, 32, 3, 16, 3, 3, 1, 1});
  check_all({1, 32, 32, 16, 32, 3, 3, 1, 1});
  check_all({2, 16, 16, 32, 64, 3, 3, 2, 1});
  check_all({3, 8, 8, 64, 64, 3, 3, 1, 1});
  check_all({5, 16, 16, 32, 64, 1, 1, 2, 0});
  check_all({2, 8, 8, 16, 48, 1, 1, 1, 0});
}

// Every image as one long row.
TEST(Conv, AgreesWherePixelsAreReadByThemselves) {
  check_all({5, 7, 7, 24, 40, 1, 1, 1, 0});
  check_all({4, 23, 29, 70, 36, 1, 1, 1, 0});
  check_all({6, 5, 3, 21, 18, 1, 1, 1, 0, 1, 3});
}

// Many images of few rows each, and long rows in many pieces.
TEST(Conv, AgreesWhereThreadsTakePieceAfterPiece) {
  check_all({60, 4, 4, 12, 20, 3, 3, 1, 1});
  check_all({51, 7, 5, 8, 9, 3, 3, 2, 1});
  check_all({1, 4, 700, 40, 20, 1, 1, 1, 0});
}

// Weights are packed by threads that share out channels: odd numbers of them, and several parts.
TEST(Conv, AgreesForWeightsOfManyOddChannels) {
  check_all({4, 3, 3, 67, 71, 1, 1, 1, 0});
  check_all({2, 4, 5, 129, 67, 3, 3, 1, 1});
}

// Few outputs with many weights: halved panels, small bands, and bf16 weight gradients that are summed in several
// turns.
TEST(Conv, AgreesWhereMemoryWeighsMoreThanSpeed) {
  check_all({1, 8, 8, 128, 128, 3, 3, 1, 1});
  check_all({2, 5, 7, 100, 72, 3, 3, 1, 1});
  check_all({1, 8, 8, 96, 40, 3, 3, 2, 1});
  check_all({3, 4, 4, 160, 96, 3, 3, 1, 1, 1, 2});
}

TEST(Conv, AgreesOnResNetShapes) {
  check_all({1, 64, 62, 3, 64, 7, 7, 2, 3});
  check_all({1, 7, 7, 96, 80, 3, 3, 1, 1});
  check_all({2, 14, 14, 32, 40, 3, 3, 2, 1});
}

TEST(Conv, AgreesWhenNothingIsAMultipleOfAVector) {
  for (const std::int64_t channels : {1, 2, 5, 17, 33}) {
    for (const std::int64_t outs : {1, 7, 15, 18, 31, 35}) check_all({2, 5, 6, channels, outs, 3, 3, 1, 1});
  }
}

TEST(Conv, AgreesForEveryWidthOfTheMap) {
  for (std::int64_t width = 1; width <= 31; ++width) check_all({2, 3, width, 6, 20, 3, 3, 1, 1});
}

TEST(Conv, AgreesForRowsOfAnyPartOfMatrixRegisters) {
  for (const std::int64_t width : {1, 2, 15, 16, 17, 31, 32, 33, 65}) {
    check_all({2, 3, width, 20, 18, 3, 3, 1, 1});
    check_normalized({3, 2, width, 16, 34, 1, 1, 1, 0}, 0, "relu", DType::bf16);
  }
  check_all({4, 6, 5, 64, 32, 3, 3, 1, 1});     // several rows of pixels in one product
  check_all({2, 5, 9, 32, 48, 3, 3, 1, 2, 2});  // dilated
}

TEST(Conv, AgreesForOddWindows) {
  check_all({2, 9, 8, 4, 6, 1, 3, 1, 1});
  check_all({2, 9, 8, 4, 6, 4, 2, 2, 1});
  check_all({1, 11, 13, 3, 5, 5, 5, 3, 2});
  check_all({1, 6, 6, 3, 5, 2, 2, 4, 0});  // whole rows of x are read by no window
  check_all({1, 3, 3, 4, 4, 1, 1, 1, 2});  // padding wider than the window
  check_all({1, 1, 1, 3, 4, 3, 3, 1, 1});
  check_all({2, 4, 5, 3, 4, 4, 5, 1, 0});     // one window
  check_all({1, 10, 10, 3, 20, 3, 3, 2, 4});  // windows wholly inside the padding
}

TEST(Conv, AgreesForDilation) {
  check_all({2, 9, 10, 5, 18, 3, 3, 1, 2, 2});
  check_all({1, 12, 11, 4, 7, 3, 2, 2, 3, 2});
  check_all({1, 12, 11, 4, 7, 3, 3, 2, 1, 3});
  check_all({1, 13, 14, 3, 5, 3, 3, 4, 2, 2});
}

TEST(Conv, AgreesForGroups) {
  check_all({2, 6, 7, 8, 12, 3, 3, 1, 1, 1, 2});
  check_all({1, 7, 7, 40, 80, 3, 3, 2, 1, 1, 2});
  check_all({2, 5, 5, 12, 24, 1, 1, 1, 0, 1, 4});
  check_all({1, 6, 6, 5, 10, 3, 3, 1, 1, 1, 5});  // one channel a group, two outputs
}

TEST(Conv, AgreesForDepthwise) {
  check_all({2, 7, 6, 37, 37, 3, 3, 1, 1, 1, 37});
  check_all({2, 9, 9, 16, 16, 3, 3, 2, 1, 1, 16});
  check_all({1, 9, 11, 21, 21, 3, 3, 2, 3, 2, 21});
  check_all({2, 8, 9, 18, 18, 5, 5, 1, 2, 1, 18});
  check_all({1, 8, 9, 18, 18, 5, 3, 2, 2, 1, 18});
  check_all({1, 10, 7, 5, 5, 2, 4, 3, 1, 1, 5});
  check_all({1, 6, 6, 17, 17, 2, 2, 4, 0, 1, 17});  // whole rows of x are read by no window
  check_all({1, 10, 10, 3, 3, 3, 3, 2, 4, 1, 3});   // windows wholly inside the padding
  check_all({1, 12, 11, 4, 4, 3, 3, 2, 1, 3, 4});   // dilation
  check_all({3, 1, 1, 20, 20, 3, 3, 1, 1, 1, 20});  // a single pixel
  // Few rows of many taps.
  check_all({2, 9, 11, 18, 18, 5, 5, 1, 0, 1, 18});
  check_all({1, 4, 12, 18, 18, 1, 7, 1, 0, 1, 18});
  check_all({1, 5, 19, 18, 18, 2, 7, 1, 0, 1, 18});
  check_all({1, 9, 12, 18, 18, 7, 7, 1, 1, 1, 18});
  check_all({1, 1, 12, 18, 18, 5, 5, 1, 2, 1, 18});
  check_all({1, 13, 13, 5, 5, 5, 5, 2, 4, 2, 5});
  check_all({1, 13, 13, 40, 40, 3, 3, 5, 1, 1, 40});  // longer strides than windows
  for (std::int64_t width = 1; width <= 9; ++width) check_all({2, 3, width, 19, 19, 3, 3, 1, 1, 1, 19});
}

// Pixels a page apart take lower tiles.
TEST(Conv, AgreesWherePixelsLieAPageApart) {
  check_all({1, 2, 15, 1024, 18, 1, 1, 1, 0});
  check_all({1, 1, 15, 20, 1024, 1, 1, 1, 0});
}

TEST(Conv, AgreesWhereTheSourceIsNormalizedOnTheWay) {
  for (const DType dtype : kStored) {
    for (const std::string activation : {"none", "relu", "relu6"}) {
      check_normalized({2, 8, 8, 16, 32, 3, 3, 1, 1}, 0, activation, dtype);
      check_normalized({3, 7, 5, 20, 17, 3, 3, 2, 1}, 4, activation, dtype);
    }
    check_normalized({2, 6, 7, 3, 18, 3, 3, 1, 1}, 0, "relu", dtype);         // taps are joined
    check_normalized({5, 9, 9, 24, 40, 1, 1, 2, 0}, 3, "relu", dtype);        // every other pixel
    check_normalized({2, 6, 7, 8, 12, 3, 3, 1, 1, 1, 2}, 2, "relu6", dtype);  // groups
    check_normalized({2, 9, 10, 6, 18, 3, 3, 1, 2, 2}, 0, "relu", dtype);     // dilation
    check_normalized({1, 7, 7, 160, 200, 3, 3, 1, 1}, 8, "relu", dtype);      // packed weights
    check_normalized({5, 9, 7, 30, 24, 1, 1, 1, 0}, 2, "relu", dtype);        // long rows
    check_normalized({2, 5, 5, 300, 24, 1, 1, 1, 0}, 0, "relu", dtype);       // channels in chunks
    check_normalized({3, 4, 4, 12, 33, 3, 3, 1, 1}, 1, "none", dtype);        // several images in a block
  }
}

TEST(Conv, AgreesForDepthwiseWhereTheSourceIsNormalizedOnTheWay) {
  for (const DType dtype : kStored) {
    for (const std::string activation : {"none", "relu", "relu6"}) {
      check_normalized({3, 7, 9, 37, 37, 3, 3, 1, 1, 1, 37}, 0, activation, dtype);
      check_normalized({3, 9, 8, 20, 20, 3, 3, 2, 1, 1, 20}, 4, activation, dtype);
    }
    for (std::int64_t width = 1; width <= 9; ++width)
      check_normalized({2, 3, width, 18, 18, 3, 3, 1, 1, 1, 18}, 3, "relu6", dtype);
    check_normalized({2, 8, 9, 18, 18, 5, 5, 1, 2, 1, 18}, 0, "relu6", dtype);
    check_normalized({1, 12, 13, 24, 24, 3, 3, 2, 2, 2, 24}, 2, "relu", dtype);  // a step of two between taps as well
    check_normalized({1, 13, 11, 4, 4, 3, 3, 2, 1, 3, 4}, 0, "relu", dtype);     // dilation
    check_normalized({40, 15, 14, 5, 5, 3, 3, 1, 1, 1, 5}, 5, "relu6", dtype);   // threads share out the pixels
    check_normalized({2, 6, 6, 5, 10, 3, 3, 1, 1, 1, 5}, 0, "relu6", dtype);     // two outputs a channel
  }
}

TEST(Conv, AgreesForEveryMixOfTypes) {
  for (const ConvCase& c : {ConvCase{2, 6, 7, 9, 21, 3, 3, 1, 1}, ConvCase{2, 8, 8, 16, 32, 3, 3, 2, 1},
                            ConvCase{2, 5, 5, 6, 17, 1, 1, 2, 0}, ConvCase{1, 5, 6, 8, 38, 3, 3, 1, 1, 1, 2}}) {
    for (const DType first : kStored) {
      for (const DType second : kStored) {
        check_forward(c, first, second);
        check_grad_input(c, first, second);
        for (const DType third : kStored) check_grad_weight(c, first, second, third);
      }
    }
  }
}

// Gradients above the size that is summed a thread, and above what is summed at once.
TEST(Conv, AgreesForLargeGradients) {
  check_grad_weight({1, 8, 8, 64, 72, 3, 3, 1, 1}, DType::f32, DType::f32, DType::f32);
  check_grad_weight({1, 6, 6, 64, 160, 3, 3, 1, 1}, DType::bf16, DType::bf16, DType::bf16);
  check_grad_weight({1, 4, 4, 260, 100, 3, 3, 1, 1}, DType::f32, DType::f32, DType::bf16);
  check_grad_weight({3, 3, 3, 70, 260, 3, 3, 2, 1}, DType::f32, DType::bf16, DType::f32);
  check_grad_weight({2, 4, 5, 300, 20, 1, 1, 1, 0, 1, 2}, DType::f32, DType::f32, DType::f32);
}

// Operands so large that several chunks of channels are copied at once, beside larger blocks of pixels.
TEST(Conv, AgreesForGradientsOfLargeOperands) {
  check_normalized({6, 28, 27, 200, 24, 1, 1, 1, 0}, 0, "relu", DType::f32);
  check_normalized({1, 57, 55, 130, 24, 3, 3, 2, 1}, 0, "relu", DType::f32);
  check_grad_weight({5, 28, 27, 260, 20, 1, 1, 1, 0}, DType::f32, DType::f32, DType::f32);
}

// Weights that are copied panel by panel, more panels than are held at once.
TEST(Conv, AgreesForLargeWeights) {
  check_grad_input({1, 6, 6, 150, 96, 3, 3, 1, 1}, DType::f32, DType::f32);
  check_grad_input({1, 5, 6, 96, 350, 3, 3, 2, 1}, DType::f32, DType::bf16);
  check_forward({1, 5, 6, 96, 350, 3, 3, 1, 1}, DType::f32, DType::f32);
  check_forward({1, 5, 4, 192, 702, 3, 3, 2, 1, 1, 2}, DType::bf16, DType::bf16);
}

TEST(Conv, AddsBiasAndRectifies) {
  const ConvCase plain = {2, 6, 7, 9, 21, 3, 3, 1, 1}, depthwise = {2, 6, 7, 20, 20, 3, 3, 1, 1, 1, 20};
  for (const ConvCase& c : {plain, depthwise}) {
    for (const DType dtype : kStored) {
      for (const DType bias : kStored) {
        Attributes attributes = window(c);
        check_products("conv2d", {{dtype, x_shape(c)}, {dtype, w_shape(c)}, {bias, {c.outs}}}, attributes);
        for (const char* activation : {"relu", "relu6"}) {
          attributes.set("activation", activation);
          check_products("conv2d", {{dtype, x_shape(c)}, {dtype, w_shape(c)}, {bias, {c.outs}}}, attributes);
          check_products("conv2d", {{dtype, x_shape(c)}, {dtype, w_shape(c)}}, attributes);
        }
      }
    }
  }
}

// Maps too wide or too deep for one band.
TEST(Conv, AgreesWhenTheMapIsCutIntoBands) {
  check_all({1, 4, 700, 40, 4, 3, 3, 1, 1});
  check_all({1, 5, 301, 90, 3, 3, 3, 2, 1});
}

}  // namespace
}  // namespace thimble
