//===- Gemm.h - double-precision matrix products ----------------*- C++ -*-===//
//
// Plain data only, no standard library beyond integers. Files compiled for
// newer instruction sets see this header. An inline function shared with them
// could be the copy that the linker keeps for everyone.
//
//===----------------------------------------------------------------------===//

#ifndef TPSP_RUNTIME_REFERENCE_GEMM_H
#define TPSP_RUNTIME_REFERENCE_GEMM_H

#include <stdint.h>

namespace tpsp::reference {

/// Where a matrix lies: contiguous along rows (row-major) or columns, with
/// `stride` elements from one row, or column, to the next.
struct MatrixLayout {
  int64_t stride;
  bool rowMajor;
};

/// C = A B on one thread, with C column-major, A rows x depth and B depth x
/// columns.
struct GemmCall {
  int64_t rows, columns, depth;
  const double *a;
  MatrixLayout aLayout;
  const double *b;
  MatrixLayout bLayout;
  double *c;
  int64_t cStride;
};

using GemmKernel = void (*)(const GemmCall &);

void gemmGeneric(const GemmCall &call);
void gemmAvx2(const GemmCall &call);
void gemmAvx512(const GemmCall &call);

/// The fastest kernel that this processor can run.
GemmKernel selectGemmKernel();

} // namespace tpsp::reference

#endif // TPSP_RUNTIME_REFERENCE_GEMM_H
