// The backend's own kernels, from their very source.
#include "GpuSyntax.h"

#include "../../lib/Runtime/Cuda/DeviceKernels.cu"

namespace {

using tpsp::doubles::OnHost;

const bool isRegistered = [] {
#define TPSP_COMBINE(NAME, TYPE, OP)                                           \
  OnHost<tpsp_##NAME>::registerAs("tpsp_" #NAME, tpspDoubleRegisterKernel);
#define TPSP_COPY(NAME, UNIT)                                                  \
  OnHost<tpsp_##NAME>::registerAs("tpsp_" #NAME, tpspDoubleRegisterKernel);
#define TPSP_EPILOGUE(SWEEP, SUM, TYPE)                                        \
  OnHost<tpsp_##SWEEP>::registerAs("tpsp_" #SWEEP, tpspDoubleRegisterKernel);  \
  OnHost<tpsp_##SUM>::registerAs("tpsp_" #SUM, tpspDoubleRegisterKernel);
#include "../../lib/Runtime/Cuda/DeviceKernels.def"
  OnHost<tpsp_round_bf16>::registerAs("tpsp_round_bf16",
                                      tpspDoubleRegisterKernel);
  return true;
}();

} // namespace
