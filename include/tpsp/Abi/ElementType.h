/// The element types of buffers (TPSP_RT_F32, ...): sizes and names. C++17 has
/// no floating-point types of 16 bits, so this header converts them. Another
/// such type needs a conversion each way and a row of `halfFloats`.
#ifndef TPSP_ABI_ELEMENTTYPE_H
#define TPSP_ABI_ELEMENTTYPE_H

#include "tpsp/Abi/tpsp_rt.h"

#include <cstdint>
#include <cstring>

namespace tpsp::rt {

/// Bytes of one element, or 0 if `dtype` is no element type.
constexpr int64_t elementBytes(int64_t dtype) {
  switch (dtype) {
  case TPSP_RT_F32:
  case TPSP_RT_I32:
    return 4;
  case TPSP_RT_BF16:
  case TPSP_RT_F16:
    return 2;
  case TPSP_RT_F64:
  case TPSP_RT_I64:
    return 8;
  case TPSP_RT_I8:
    return 1;
  default:
    return 0;
  }
}

/// "f32", "bf16", ..., or "?" if `dtype` is no element type.
constexpr const char *elementName(int64_t dtype) {
  constexpr const char *names[] = {"f32", "bf16", "f64", "i32",
                                   "i64", "i8",   "f16"};
  return elementBytes(dtype) ? names[dtype] : "?";
}

constexpr bool isInteger(int64_t dtype) {
  return dtype == TPSP_RT_I32 || dtype == TPSP_RT_I64 || dtype == TPSP_RT_I8;
}

/// Element `i` of integers of type `dtype`.
inline int64_t loadInteger(const void *memory, int64_t dtype, int64_t i) {
  if (dtype == TPSP_RT_I8)
    return static_cast<const int8_t *>(memory)[i];
  if (dtype == TPSP_RT_I32)
    return static_cast<const int32_t *>(memory)[i];
  return static_cast<const int64_t *>(memory)[i];
}

/// Writes element `i`; the value fits the type.
inline void storeInteger(int64_t value, int64_t dtype, void *memory,
                         int64_t i) {
  if (dtype == TPSP_RT_I8)
    static_cast<int8_t *>(memory)[i] = static_cast<int8_t>(value);
  else if (dtype == TPSP_RT_I32)
    static_cast<int32_t *>(memory)[i] = static_cast<int32_t>(value);
  else
    static_cast<int64_t *>(memory)[i] = value;
}

inline float floatOfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline uint32_t bitsOfFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// The value of a bf16 given by its bits.
inline float bf16ToFloat(uint16_t bits) {
  return floatOfBits(uint32_t(bits) << 16);
}

/// The nearest bf16, ties to even; a NaN stays a (quiet) NaN.
inline uint16_t floatToBf16(float value) {
  uint32_t bits = bitsOfFloat(value);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  uint32_t quietNaN = (bits >> 16) | 0x40;
  return uint16_t(value != value ? quietNaN : rounded);
}

/// The value of an f16 given by its bits. Exact.
inline float f16ToFloat(uint16_t bits) {
  constexpr uint32_t rebias = (127 - 15) << 23, one = 1 << 23;
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t magnitude = uint32_t(bits & 0x7fff) << 13;
  uint32_t normal = magnitude + rebias;
  // For a subnormal f16, a leading one is added and then subtracted, so that no
  // subnormal f32 arises.
  float least = floatOfBits(magnitude + rebias + one) - 0x1p-14f;
  uint32_t wide = magnitude < one ? bitsOfFloat(least) : normal;
  uint32_t special = magnitude | 0x7f800000; // infinities and NaNs
  return floatOfBits(sign | (magnitude < 31 * one ? wide : special));
}

/// The nearest f16, ties to even. Magnitudes of 65520 and more become infinity;
/// a NaN stays a (quiet) NaN.
inline uint16_t floatToF16(float value) {
  constexpr uint32_t rebias = (127 - 15) << 23, infinity = 0x7c00;
  uint32_t bits = bitsOfFloat(value), sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  uint32_t normal = (magnitude - rebias + 0xfff + (magnitude >> 13 & 1)) >> 13;
  // The last place of 0.5f is worth the least f16, so the sum rounds to a
  // multiple of the least f16.
  uint32_t least = bitsOfFloat(floatOfBits(magnitude) + 0.5f) - 0x3f000000;
  uint32_t finite = magnitude < rebias + (1 << 23) ? least : normal;
  uint32_t rounded = magnitude < 0x477ff000 ? finite : infinity;
  uint32_t quietNaN = 0x7e00 | (magnitude >> 13 & 0x3ff);
  return uint16_t(sign | (value != value ? quietNaN : rounded));
}

/// A floating-point type of 16 bits: computed with in f32, and rounded when it
/// is stored.
struct HalfFloat {
  int64_t dtype;
  /// The type's name in safetensors files.
  const char *formatName;
  /// Half a unit of 1's last place: the largest relative error of rounding a
  /// number. The number's magnitude must be neither too small nor too large for
  /// the type.
  double epsilon;
  float (*widen)(uint16_t bits);
  uint16_t (*round)(float value);
};

inline constexpr HalfFloat halfFloats[] = {
    {TPSP_RT_BF16, "BF16", 0x1p-8, bf16ToFloat, floatToBf16},
    {TPSP_RT_F16, "F16", 0x1p-11, f16ToFloat, floatToF16}};

/// Null if `dtype` is no floating-point type of 16 bits.
constexpr const HalfFloat *halfFloat(int64_t dtype) {
  for (const HalfFloat &half : halfFloats)
    if (half.dtype == dtype)
      return &half;
  return nullptr;
}

/// Element `i` of floating-point numbers of type `dtype`.
inline double loadFloat(const void *memory, int64_t dtype, int64_t i) {
  if (const HalfFloat *half = halfFloat(dtype))
    return half->widen(static_cast<const uint16_t *>(memory)[i]);
  if (dtype == TPSP_RT_F64)
    return static_cast<const double *>(memory)[i];
  return static_cast<const float *>(memory)[i];
}

/// Element `i` of numbers of any type.
inline double loadNumber(const void *memory, int64_t dtype, int64_t i) {
  return isInteger(dtype) ? double(loadInteger(memory, dtype, i))
                          : loadFloat(memory, dtype, i);
}

/// Writes element `i`, rounded to the type. Types of 16 bits are rounded from
/// f32.
inline void storeFloat(double value, int64_t dtype, void *memory, int64_t i) {
  if (const HalfFloat *half = halfFloat(dtype))
    static_cast<uint16_t *>(memory)[i] = half->round(float(value));
  else if (dtype == TPSP_RT_F64)
    static_cast<double *>(memory)[i] = value;
  else
    static_cast<float *>(memory)[i] = float(value);
}

} // namespace tpsp::rt

#endif // TPSP_ABI_ELEMENTTYPE_H
