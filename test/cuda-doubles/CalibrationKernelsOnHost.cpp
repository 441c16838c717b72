// Compiles the source of the kernels of --calibrate for the host.
#include "GpuSyntax.h"

#include <cmath>

#include "Runtime/Cuda/Kernels/CalibrationKernels.cu"

namespace {

using tpsp::doubles::OnHost;

const bool isRegistered = [] {
  auto add = tpspDoubleRegisterKernel;
  OnHost<tpsp_probe_nothing>::registerAs("tpsp_probe_nothing", add);
  OnHost<tpsp_probe_stream>::registerAs("tpsp_probe_stream", add);
  OnHost<tpsp_probe_operations>::registerAs("tpsp_probe_operations", add);
  OnHost<tpsp_probe_transcendentals>::registerAs("tpsp_probe_transcendentals",
                                                 add);
  OnHost<tpsp_probe_cache>::registerAs("tpsp_probe_cache", add);
  OnHost<tpsp_probe_scattered>::registerAs("tpsp_probe_scattered", add);
  return true;
}();

} // namespace
