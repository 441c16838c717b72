/// The positions that slices and their inverses have along a dimension.
#ifndef TPSP_IMPORT_TORCH_POSITIONS_H
#define TPSP_IMPORT_TORCH_POSITIONS_H

#include "Operators.h"

namespace tpsp::import::torch {

/// `count` positions from `begin` on, each `step` after the one before.
struct Positions {
  size_t dim = 0;
  int64_t begin = 0, count = 0, step = 1;

  bool has(int64_t position) const {
    return position >= begin && (position - begin) % step == 0 &&
           (position - begin) / step < count;
  }
};

/// Those of the arguments `dim`, `start`, `end` and `step`, of a tensor of
/// these sizes.
Positions slicedPositions(const Call &call, const Sizes &sizes);

/// The argument `index` of a dimension of `size` positions, from the start.
int64_t positionOf(const Call &call, int64_t size);

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_POSITIONS_H
