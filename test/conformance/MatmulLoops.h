/// The points of a matmul's loops.
#ifndef TPSP_TEST_CONFORMANCE_MATMULLOOPS_H
#define TPSP_TEST_CONFORMANCE_MATMULLOOPS_H

#include "tpsp/Abi/Commands.h"

#include <vector>

namespace tpsp::rt::conformance {

using Loops = std::vector<MatmulLoop>;

/// Calls body(offsetA, offsetB, offsetC) for every point of the loops.
template <typename Body>
void forEachPoint(const Loops &loops, const Body &body, size_t depth = 0,
                  int64_t a = 0, int64_t b = 0, int64_t c = 0) {
  if (depth == loops.size())
    return body(a, b, c);
  const MatmulLoop &loop = loops[depth];
  for (int64_t i = 0; i < loop.extent; ++i)
    forEachPoint(loops, body, depth + 1, a + i * loop.strideA,
                 b + i * loop.strideB, c + i * loop.strideC);
}

} // namespace tpsp::rt::conformance

#endif // TPSP_TEST_CONFORMANCE_MATMULLOOPS_H
