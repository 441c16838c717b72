//===- GemmAvx2.cpp - matrix product for AVX2 and FMA -------------------===//

#define Eigen EigenAvx2
#define TPSP_GEMM_NAME gemmAvx2
#include "GemmKernel.inc"
