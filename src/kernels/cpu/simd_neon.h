// The vectors of simd.h on NEON, which every aarch64 has.
#pragma once

namespace thimble::kernels::THIMBLE_ISA {

constexpr Isa kIsa = Isa::neon;
constexpr int kLanes = 4;
struct Vec {
  float32x4_t v;
};

THIMBLE_INLINE Vec zero() { return {vdupq_n_f32(0)}; }
THIMBLE_INLINE Vec broadcast(float x) { return {vdupq_n_f32(x)}; }
THIMBLE_INLINE Vec load(const float* p) { return {vld1q_f32(p)}; }
THIMBLE_INLINE void store(float* p, Vec a) { vst1q_f32(p, a.v); }
THIMBLE_INLINE void end_streams() {}
// There are no masks of lanes: short vectors are loaded and stored lane by lane.
THIMBLE_INLINE Vec load_first(const float* p, int count) {
  float32x4_t v = vdupq_n_f32(0);
  if (count > 0) v = vld1q_lane_f32(p, v, 0);
  if (count > 1) v = vld1q_lane_f32(p + 1, v, 1);
  if (count > 2) v = vld1q_lane_f32(p + 2, v, 2);
  if (count > 3) v = vld1q_lane_f32(p + 3, v, 3);
  return {v};
}
THIMBLE_INLINE void store_first(float* p, Vec a, int count) {
  if (count > 0) vst1q_lane_f32(p, a.v, 0);
  if (count > 1) vst1q_lane_f32(p + 1, a.v, 1);
  if (count > 2) vst1q_lane_f32(p + 2, a.v, 2);
  if (count > 3) vst1q_lane_f32(p + 3, a.v, 3);
}

// bf16 are the upper halves of f32.
THIMBLE_INLINE Vec widen(uint16x4_t halves) { return {vreinterpretq_f32_u32(vshll_n_u16(halves, 16))}; }
THIMBLE_INLINE uint16x4_t upper_halves(Vec a) { return vshrn_n_u32(vreinterpretq_u32_f32(a.v), 16); }
THIMBLE_INLINE uint16x4_t load_first_halves(const BFloat16* from, int count) {
  const auto* p = reinterpret_cast<const std::uint16_t*>(from);
  uint16x4_t halves = vdup_n_u16(0);
  if (count > 0) halves = vld1_lane_u16(p, halves, 0);
  if (count > 1) halves = vld1_lane_u16(p + 1, halves, 1);
  if (count > 2) halves = vld1_lane_u16(p + 2, halves, 2);
  if (count > 3) halves = vld1_lane_u16(p + 3, halves, 3);
  return halves;
}
THIMBLE_INLINE void store_halves(BFloat16* p, uint16x4_t halves) {
  vst1_u16(reinterpret_cast<std::uint16_t*>(p), halves);
}
THIMBLE_INLINE void store_first_halves(BFloat16* to, uint16x4_t halves, int count) {
  auto* p = reinterpret_cast<std::uint16_t*>(to);
  if (count > 0) vst1_lane_u16(p, halves, 0);
  if (count > 1) vst1_lane_u16(p + 1, halves, 1);
  if (count > 2) vst1_lane_u16(p + 2, halves, 2);
  if (count > 3) vst1_lane_u16(p + 3, halves, 3);
}
THIMBLE_INLINE uint16x4_t quiet_nans(Vec a, uint16x4_t others) {
  const uint16x4_t is_number = vmovn_u32(vceqq_f32(a.v, a.v));
  return vbsl_u16(is_number, others, vorr_u16(upper_halves(a), vdup_n_u16(0x40)));
}
THIMBLE_INLINE uint16x4_t to_bfloat16_bits(Vec a) {
  const uint32x4_t bits = vreinterpretq_u32_f32(a.v);
  const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
  return quiet_nans(a, vshrn_n_u32(vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff))), 16));
}
THIMBLE_INLINE Vec load(const BFloat16* p) { return widen(vld1_u16(reinterpret_cast<const std::uint16_t*>(p))); }
THIMBLE_INLINE Vec load_first(const BFloat16* p, int count) { return widen(load_first_halves(p, count)); }
THIMBLE_INLINE void store(BFloat16* p, Vec a) { store_halves(p, to_bfloat16_bits(a)); }
THIMBLE_INLINE void store_first(BFloat16* p, Vec a, int count) { store_first_halves(p, to_bfloat16_bits(a), count); }
THIMBLE_INLINE void store_bits(BFloat16* p, Vec a) { store_halves(p, upper_halves(a)); }
THIMBLE_INLINE void store_first_bits(BFloat16* p, Vec a, int count) { store_first_halves(p, upper_halves(a), count); }

THIMBLE_INLINE Vec add(Vec a, Vec b) { return {vaddq_f32(a.v, b.v)}; }
THIMBLE_INLINE Vec sub(Vec a, Vec b) { return {vsubq_f32(a.v, b.v)}; }
THIMBLE_INLINE Vec mul(Vec a, Vec b) { return {vmulq_f32(a.v, b.v)}; }
THIMBLE_INLINE Vec div(Vec a, Vec b) { return {vdivq_f32(a.v, b.v)}; }
THIMBLE_INLINE Vec sqrt(Vec a) { return {vsqrtq_f32(a.v)}; }
THIMBLE_INLINE Vec fma(Vec a, Vec b, Vec c) { return {vfmaq_f32(c.v, a.v, b.v)}; }

// `a` in the lanes of the mask, else zero.
THIMBLE_INLINE Vec where(uint32x4_t mask, Vec a) {
  return {vreinterpretq_f32_u32(vandq_u32(mask, vreinterpretq_u32_f32(a.v)))};
}
// vmaxq and vminq would pass every NaN on.
THIMBLE_INLINE Vec max(Vec a, Vec b) { return {vbslq_f32(vcgtq_f32(a.v, b.v), a.v, b.v)}; }
THIMBLE_INLINE Vec min(Vec a, Vec b) { return {vbslq_f32(vcltq_f32(a.v, b.v), a.v, b.v)}; }
THIMBLE_INLINE Vec where_at_least(Vec a, Vec b, Vec yes, Vec no) {
  return {vbslq_f32(vcgeq_f32(a.v, b.v), yes.v, no.v)};
}
THIMBLE_INLINE Vec where_beats(Vec a, Vec b, Vec yes, Vec no) {
  const uint32x4_t beats = vbicq_u32(vceqq_f32(b.v, b.v), vcleq_f32(a.v, b.v));
  return {vbslq_f32(beats, yes.v, no.v)};
}
THIMBLE_INLINE Vec where_positive(Vec gate, Vec a) { return where(vcgtzq_f32(gate.v), a); }

THIMBLE_INLINE uint32x4_t lane_bits() { return uint32x4_t{1, 2, 4, 8}; }
THIMBLE_INLINE unsigned bits_of(uint32x4_t mask) { return vaddvq_u32(vandq_u32(mask, lane_bits())); }
THIMBLE_INLINE unsigned positive_bits(Vec a) { return bits_of(vcgtzq_f32(a.v)); }
THIMBLE_INLINE Vec where_bits(unsigned bits, Vec a) { return where(vtstq_u32(vdupq_n_u32(bits), lane_bits()), a); }
THIMBLE_INLINE Vec where_byte(const std::uint8_t* bytes, int byte, Vec a) {
  const uint32x4_t found = {bytes[0], bytes[1], bytes[2], bytes[3]};
  return where(vceqq_u32(found, vdupq_n_u32(static_cast<unsigned>(byte))), a);
}
THIMBLE_INLINE void store_bytes(std::uint8_t* p, Vec a) {
  const uint16x4_t words = vmovn_u32(vcvtq_u32_f32(a.v));
  const uint8x8_t bytes = vmovn_u16(vcombine_u16(words, words));
  vst1_lane_u32(reinterpret_cast<std::uint32_t*>(p), vreinterpret_u32_u8(bytes), 0);
}

THIMBLE_INLINE void add_to(double* sums, Vec a) {
  vst1q_f64(sums, vaddq_f64(vld1q_f64(sums), vcvt_f64_f32(vget_low_f32(a.v))));
  vst1q_f64(sums + 2, vaddq_f64(vld1q_f64(sums + 2), vcvt_high_f64_f32(a.v)));
}
THIMBLE_INLINE void add_squares_to(double* sums, Vec a) {
  const float64x2_t low = vcvt_f64_f32(vget_low_f32(a.v)), high = vcvt_high_f64_f32(a.v);
  vst1q_f64(sums, vfmaq_f64(vld1q_f64(sums), low, low));
  vst1q_f64(sums + 2, vfmaq_f64(vld1q_f64(sums + 2), high, high));
}

// One load widens in order at once.
THIMBLE_INLINE void load_split(Vec& first, Vec& second, const BFloat16* p, int count) {
  if (count < 2 * kLanes) {
    first = load_first(p, count);
    second = count > kLanes ? load_first(p + kLanes, count - kLanes) : zero();
    return;
  }
  const uint16x8_t both = vld1q_u16(reinterpret_cast<const std::uint16_t*>(p));
  first = widen(vget_low_u16(both));
  second = widen(vget_high_u16(both));
}
THIMBLE_INLINE void unsplit(Vec&, Vec&) {}

THIMBLE_INLINE void transpose(Vec (&m)[kLanes]) {
  const float32x4_t low = vzip1q_f32(m[0].v, m[2].v), high = vzip2q_f32(m[0].v, m[2].v);
  const float32x4_t low2 = vzip1q_f32(m[1].v, m[3].v), high2 = vzip2q_f32(m[1].v, m[3].v);
  m[0].v = vzip1q_f32(low, low2);
  m[1].v = vzip2q_f32(low, low2);
  m[2].v = vzip1q_f32(high, high2);
  m[3].v = vzip2q_f32(high, high2);
}

THIMBLE_INLINE Vec nearest(Vec a) { return {vrndnq_f32(a.v)}; }
THIMBLE_INLINE float32x4_t power_of_two(int32x4_t power) {
  return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(power, vdupq_n_s32(127)), 23));
}
// In two factors: the power itself may lie beyond the largest or below the smallest normal number.
THIMBLE_INLINE Vec times_power_of_two(Vec a, Vec power) {
  const int32x4_t whole = vcvtnq_s32_f32(power.v), half = vshrq_n_s32(whole, 1);
  return {vmulq_f32(vmulq_f32(a.v, power_of_two(half)), power_of_two(vsubq_s32(whole, half)))};
}

struct Words {
  uint32x4_t v;
};
THIMBLE_INLINE Words broadcast_word(std::uint32_t x) { return {vdupq_n_u32(x)}; }
THIMBLE_INLINE Words load_words(const std::uint32_t* p) { return {vld1q_u32(p)}; }
THIMBLE_INLINE Words exclusive_or(Words a, Words b, Words c) { return {veorq_u32(veorq_u32(a.v, b.v), c.v)}; }
THIMBLE_INLINE void multiply(Words a, Words b, Words& low, Words& high) {
  const uint32x4_t first = vreinterpretq_u32_u64(vmull_u32(vget_low_u32(a.v), vget_low_u32(b.v)));
  const uint32x4_t second = vreinterpretq_u32_u64(vmull_high_u32(a.v, b.v));
  low = {vuzp1q_u32(first, second)};
  high = {vuzp2q_u32(first, second)};
}
THIMBLE_INLINE unsigned at_least_bits(Words a, std::uint32_t bound) {
  return bits_of(vcgeq_u32(a.v, vdupq_n_u32(bound)));
}
THIMBLE_INLINE void store_stochastic(BFloat16* p, Vec a, Words random) {
  const uint32x4_t moved = vaddq_u32(vreinterpretq_u32_f32(a.v), vandq_u32(random.v, vdupq_n_u32(0xffff)));
  store_halves(p, quiet_nans(a, vshrn_n_u32(moved, 16)));
}

}  // namespace thimble::kernels::THIMBLE_ISA
