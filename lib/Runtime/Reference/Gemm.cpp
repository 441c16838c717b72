//===- Gemm.cpp - choice of the matrix product ----------------------------===//

#include "Gemm.h"

namespace tpsp::reference {

GemmKernel selectGemmKernel() {
#ifdef TPSP_REFERENCE_X86
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    return gemmAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return gemmAvx2;
#endif
  return gemmGeneric;
}

} // namespace tpsp::reference
