// Compiles the source of the backend's own kernels for the host.
#include "GpuSyntax.h"
#include "ThreadBlockOnHost.h"
#include "WarpgroupOnHost.h"

#include "Runtime/Cuda/Kernels/DeviceKernels.cu"

namespace {

using tpsp::doubles::OnHost;

const bool isRegistered = [] {
#define TPSP_COMBINE(NAME, TYPE, OP)                                           \
  OnHost<tpsp_##NAME>::registerAs("tpsp_" #NAME, tpspDoubleRegisterKernel);
#define TPSP_COPY(NAME, UNIT)                                                  \
  OnHost<tpsp_##NAME>::registerAs("tpsp_" #NAME, tpspDoubleRegisterKernel);
#define TPSP_EPILOGUE(DTYPE, SWEEP, PARTS, SUM, TYPE)                          \
  OnHost<tpsp_##SWEEP>::registerAs("tpsp_" #SWEEP, tpspDoubleRegisterKernel);  \
  OnHost<tpsp_##PARTS>::registerAs("tpsp_" #PARTS, tpspDoubleRegisterKernel);  \
  OnHost<tpsp_##SUM>::registerAs("tpsp_" #SUM, tpspDoubleRegisterKernel);
#define TPSP_ROUND(NAME, TYPE)                                                 \
  OnHost<tpsp_##NAME>::registerAs("tpsp_" #NAME, tpspDoubleRegisterKernel);
#define TPSP_GROUPED(DTYPE, NAME, TYPE, ALONG_A, ALONG_B)                      \
  OnHost<tpsp_##NAME>::registerAs("tpsp_" #NAME, tpspDoubleRegisterKernel);
#define TPSP_WIDE(DTYPE, NAME, TYPE, ALONG_A, ALONG_B)                         \
  OnHost<tpsp_##NAME>::registerAs("tpsp_" #NAME, tpspDoubleRegisterKernel);
#define TPSP_ATTENTION(NAME, ARGUMENTS, FUNCTION)                              \
  OnHost<tpsp_##NAME>::registerAs("tpsp_" #NAME, tpspDoubleRegisterKernel);
#include "Runtime/Cuda/Kernels/DeviceKernels.def"
  OnHost<tpsp_order_rows>::registerAs("tpsp_order_rows",
                                      tpspDoubleRegisterKernel);
  return true;
}();

} // namespace
