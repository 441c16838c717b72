//===- GemmAvx512.cpp - matrix product for AVX-512 F and DQ -------------===//

#define Eigen EigenAvx512
#define TPSP_GEMM_NAME gemmAvx512
#include "GemmKernel.inc"
