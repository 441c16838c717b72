/// Rows of 16-bit floating-point numbers to f32 and back, with the processor's
/// instructions where it has them. The same bits either way.
#ifndef TPSP_RUNTIME_CPU_HALFROWS_H
#define TPSP_RUNTIME_CPU_HALFROWS_H

#include "tpsp/Abi/ElementType.h"

namespace tpsp::rt {

/// What converts rows of one type.
struct HalfRows {
  void (*widen)(const uint16_t *from, float *to, int64_t count);
  void (*round)(const float *from, uint16_t *to, int64_t count);
};

/// `dtype` is a floating-point type of 16 bits.
HalfRows halfRows(int64_t dtype);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_HALFROWS_H
