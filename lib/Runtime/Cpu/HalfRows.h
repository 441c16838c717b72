/// Converts rows of 16-bit floating-point numbers to f32 and back. Uses the
/// processor's instructions if it has them; the results have the same bits
/// either way.
#ifndef TPSP_RUNTIME_CPU_HALFROWS_H
#define TPSP_RUNTIME_CPU_HALFROWS_H

#include "tpsp/Abi/ElementType.h"

namespace tpsp::rt {

/// The functions that convert rows of one type.
struct HalfRows {
  void (*widen)(const uint16_t *from, float *to, int64_t count);
  void (*round)(const float *from, uint16_t *to, int64_t count);
};

/// `dtype` must be a 16-bit floating-point type.
HalfRows halfRows(int64_t dtype);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_HALFROWS_H
