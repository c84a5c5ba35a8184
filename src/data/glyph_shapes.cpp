#include "data/glyph_shapes.h"

namespace thimble {
namespace {

constexpr Point kRound[] = {{.95F, 0},     {.88F, .36F},  {.67F, .67F},  {.36F, .88F},   {0, .95F},      {-.36F, .88F},
                            {-.67F, .67F}, {-.88F, .36F}, {-.95F, 0},    {-.88F, -.36F}, {-.67F, -.67F}, {-.36F, -.88F},
                            {0, -.95F},    {.36F, -.88F}, {.67F, -.67F}, {.88F, -.36F}};
constexpr GlyphPath kCircle[] = {{kRound, true}};

constexpr Point kUpright[] = {{0, -1}, {0, 1}};
constexpr Point kLevel[] = {{-1, 0}, {1, 0}};
constexpr GlyphPath kCross[] = {{kUpright}, {kLevel}};

constexpr Point kThreeCorners[] = {{0, -1}, {.95F, .75F}, {-.95F, .75F}};
constexpr GlyphPath kTriangle[] = {{kThreeCorners, true}};

constexpr Point kFourCorners[] = {{-.8F, -.8F}, {.8F, -.8F}, {.8F, .8F}, {-.8F, .8F}};
constexpr GlyphPath kSquare[] = {{kFourCorners, true}};

// Corners at radius 1.1 and 0.44 in turn, every 36 degrees.
constexpr Point kFivePoints[] = {{0, -1.1F}, {.26F, -.36F}, {1.05F, -.34F}, {.42F, .14F},    {.65F, .89F},
                                 {0, .44F},  {-.65F, .89F}, {-.42F, .14F},  {-1.05F, -.34F}, {-.26F, -.36F}};
constexpr GlyphPath kStar[] = {{kFivePoints, true}};

constexpr Point kShaft[] = {{0, 1}, {0, -1}};
constexpr Point kHead[] = {{-.75F, -.2F}, {0, -1}, {.75F, -.2F}};
constexpr GlyphPath kArrow[] = {{kShaft}, {kHead}};

constexpr Point kTwoLobes[] = {{0, 1},         {-.55F, .5F},  {-.95F, 0}, {-1, -.42F},  {-.78F, -.78F},
                               {-.42F, -.82F}, {-.12F, -.6F}, {0, -.32F}, {.12F, -.6F}, {.42F, -.82F},
                               {.78F, -.78F},  {1, -.42F},    {.95F, 0},  {.55F, .5F}};
constexpr GlyphPath kHeart[] = {{kTwoLobes, true}};

// The outside of a circle and the inside of one shifted to the right.
constexpr Point kSickle[] = {{.55F, -.9F}, {.1F, -1},    {-.4F, -.85F}, {-.8F, -.5F}, {-.95F, 0},
                             {-.8F, .5F},  {-.4F, .85F}, {.1F, 1},      {.55F, .9F},  {.15F, .65F},
                             {-.1F, .35F}, {-.18F, 0},   {-.1F, -.35F}, {.15F, -.65F}};
constexpr GlyphPath kCrescent[] = {{kSickle, true}};

constexpr Point kCrossedCorners[] = {{-.8F, -1}, {.8F, -1}, {-.8F, 1}, {.8F, 1}};
constexpr GlyphPath kHourglass[] = {{kCrossedCorners, true}};

constexpr Point kUpAndDown[] = {{-1.1F, .45F}, {-.55F, -.45F}, {0, .45F}, {.55F, -.45F}, {1.1F, .45F}};
constexpr GlyphPath kZigzag[] = {{kUpAndDown}};

constinit const std::array<GlyphShape, kGlyphCount> kShapes = {{{"circle", kCircle},
                                                                {"cross", kCross},
                                                                {"triangle", kTriangle},
                                                                {"square", kSquare},
                                                                {"star", kStar},
                                                                {"arrow", kArrow},
                                                                {"heart", kHeart},
                                                                {"crescent", kCrescent},
                                                                {"hourglass", kHourglass},
                                                                {"zigzag", kZigzag}}};

}  // namespace

const std::array<GlyphShape, kGlyphCount>& glyph_shapes() { return kShapes; }

}  // namespace thimble
