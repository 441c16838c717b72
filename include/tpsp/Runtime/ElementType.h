/// The element types of buffers (TPSP_RT_F32, ...): sizes, names, and the
/// conversions of bf16, which C++17 has no type for.
#ifndef TPSP_RUNTIME_ELEMENTTYPE_H
#define TPSP_RUNTIME_ELEMENTTYPE_H

#include "tpsp/Runtime/tpsp_rt.h"

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
  constexpr const char *names[] = {"f32", "bf16", "f64", "i32", "i64", "i8"};
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

/// The value of a bf16 given by its bits.
inline float bf16ToFloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

/// The nearest bf16, ties to even; a NaN stays a (quiet) NaN.
inline uint16_t floatToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  uint32_t quietNaN = (bits >> 16) | 0x40;
  return uint16_t(value != value ? quietNaN : rounded);
}

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_ELEMENTTYPE_H
