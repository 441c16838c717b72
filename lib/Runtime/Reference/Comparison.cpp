//===- Comparison.cpp - differences from the reference --------------------===//

#include "tpsp/Runtime/Reference.h"

#include <cstring>

namespace tpsp::reference {

double fromBfloat16(uint16_t bits) {
  // A bfloat16 is the upper half of a float32.
  const uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

Difference difference(const Tensor &want, const double *got) {
  return difference(want, [got](int64_t i) { return got[i]; });
}

Difference difference(const Tensor &want, const float *got) {
  return difference(want, [got](int64_t i) { return got[i]; });
}

Difference difference(const Tensor &want, const uint16_t *got) {
  return difference(want, [got](int64_t i) { return fromBfloat16(got[i]); });
}

} // namespace tpsp::reference
