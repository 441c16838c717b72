//===- Gemm.h - double-precision matrix products ----------------*- C++ -*-===//
//
// This header is plain data and uses only integers of the standard library.
// Files compiled for newer instruction sets include it. If it had inline
// functions, the linker might keep the copy of such a file for everyone.
//===----------------------------------------------------------------------===//

#ifndef TPSP_RUNTIME_REFERENCE_GEMM_H
#define TPSP_RUNTIME_REFERENCE_GEMM_H

#include <stdint.h>

namespace tpsp::reference {

/// The layout of a matrix: contiguous along rows (row-major) or columns, with
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
