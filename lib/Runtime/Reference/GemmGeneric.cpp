//===- GemmGeneric.cpp - matrix product for any processor ---------------===//

#define Eigen EigenGeneric
#define TPSP_GEMM_NAME gemmGeneric
#include "GemmKernel.inc"
