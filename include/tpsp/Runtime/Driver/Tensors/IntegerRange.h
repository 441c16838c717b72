/// Which integers an argument takes from files.
#ifndef TPSP_RUNTIME_DRIVER_TENSORS_INTEGERRANGE_H
#define TPSP_RUNTIME_DRIVER_TENSORS_INTEGERRANGE_H

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/Plan.h"

namespace tpsp::rt {

struct IntegerRange {
  int64_t least, most;

  bool has(int64_t value) const { return value >= least && value <= most; }
};

/// The integers below `tensor.below`, if that is known. Labels alone may be
/// negative then. Otherwise all integers of the type.
inline IntegerRange integerRange(const PlanBuffer &tensor) {
  int64_t bits = 8 * elementBytes(tensor.dtype) - 1;
  auto most = int64_t((uint64_t(1) << bits) - 1);
  bool isBounded = tensor.below > 0;
  return {isBounded && !holdsLabels(tensor.data) ? 0 : -most - 1,
          isBounded ? tensor.below - 1 : most};
}

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TENSORS_INTEGERRANGE_H
