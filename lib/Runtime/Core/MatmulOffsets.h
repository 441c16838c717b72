/// Offsets of the points and steps of a matmul's loops.
#ifndef TPSP_RUNTIME_CORE_MATMULOFFSETS_H
#define TPSP_RUNTIME_CORE_MATMULOFFSETS_H

#include "tpsp/Abi/Commands.h"

#include <algorithm>
#include <vector>

namespace tpsp::rt {

/// In elements, from the starts of the buffers.
struct MatmulOffsets {
  int64_t a = 0, b = 0, c = 0;
};

/// The number of points of the loops.
inline int64_t pointsOf(const std::vector<MatmulLoop> &loops) {
  int64_t points = 1;
  for (const MatmulLoop &loop : loops)
    points *= loop.extent;
  return points;
}

/// The offsets of point `index` of the loops, from `start`. The last loop is
/// the innermost.
inline MatmulOffsets offsetsAt(const std::vector<MatmulLoop> &loops,
                               int64_t index, MatmulOffsets start) {
  for (size_t i = loops.size(); i-- > 0;) {
    int64_t position = index % loops[i].extent;
    index /= loops[i].extent;
    start.a += position * loops[i].strideA;
    start.b += position * loops[i].strideB;
    start.c += position * loops[i].strideC;
  }
  return start;
}

/// The leading dimensions as BLAS wants them: at least the length of a row,
/// even if there is only one row.
struct LeadingDimensions {
  explicit LeadingDimensions(const MatmulForm &c)
      : a(std::max({c.lda, c.transposeA ? c.m : c.k, int64_t(1)})),
        b(std::max({c.ldb, c.transposeB ? c.k : c.n, int64_t(1)})),
        c(std::max({c.ldc, c.n, int64_t(1)})) {}

  int64_t a, b, c;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_MATMULOFFSETS_H
