/// Shared by tests of matrix products: the points of loops, element types with
/// their tolerances, and the layout of matrices.
#ifndef TPSP_TEST_CONFORMANCE_MATMULLOOPS_H
#define TPSP_TEST_CONFORMANCE_MATMULLOOPS_H

#include "tpsp/Abi/Commands.h"

#include <gtest/gtest.h>

#include <cmath>
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

struct TypeCase {
  int64_t dtype;
  double tolerance;
};

/// Tolerances of sums of a few hundred products of numbers below 1. For 16 bits
/// it is half a unit of the result's last place, because products and sums are
/// in f32.
inline constexpr TypeCase productTypes[] = {{TPSP_RT_F32, 3e-6},
                                            {TPSP_RT_BF16, 1.0 / 256},
                                            {TPSP_RT_F16, 1.0 / 2048 + 3e-6},
                                            {TPSP_RT_F64, 1e-14}};

/// Sets a form of m x n x k. Bit 0 of `layout` transposes A, bit 1 B. Rows have
/// `padding` further elements.
inline void layOut(MatmulForm &form, int64_t m, int64_t n, int64_t k,
                   int layout, int64_t padding) {
  form.m = m, form.n = n, form.k = k;
  form.transposeA = layout & 1;
  form.transposeB = layout & 2;
  form.lda = (form.transposeA ? m : k) + padding;
  form.ldb = (form.transposeB ? k : n) + padding;
  form.ldc = n + padding;
}

/// The elements from the first to one past the last of a matrix of
/// rows x columns, at all points and steps. `stride` is the matrix's.
inline int64_t spanOf(const MatmulForm &form, int64_t rows, int64_t columns,
                      int64_t ld, int64_t MatmulLoop::*stride) {
  int64_t count = rows && columns ? (rows - 1) * ld + columns : 0;
  for (const auto *loops : {&form.batch, &form.accumulate})
    for (const MatmulLoop &loop : *loops)
      count += (loop.extent - 1) * loop.*stride;
  return count;
}

/// Compares elements. Gaps, which are NaN in `expected`, must be unchanged.
inline void expectElements(const std::vector<double> &got,
                           const std::vector<double> &expected,
                           double tolerance) {
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i]))
      ASSERT_TRUE(std::isnan(got[i])) << "element " << i << " of a gap";
    else
      ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::fabs(expected[i])))
          << "element " << i;
  }
}

} // namespace tpsp::rt::conformance

#endif // TPSP_TEST_CONFORMANCE_MATMULLOOPS_H
