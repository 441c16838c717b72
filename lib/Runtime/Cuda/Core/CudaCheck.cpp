#include "CudaCheck.h"

#include <fmt/format.h>

namespace tpsp::rt {

Status checkCuda(cudaError_t result, const char *call) {
  if (result == cudaSuccess)
    return {};
  // Clears the error, which the next check of the last error would find
  // otherwise.
  (void)cudaGetLastError();
  return {TPSP_RT_INTERNAL,
          fmt::format("{} failed: {} ({})", call, cudaGetErrorString(result),
                      cudaGetErrorName(result))};
}

Status checkCublas(cublasStatus_t result, const char *call) {
  if (result == CUBLAS_STATUS_SUCCESS)
    return {};
  (void)cudaGetLastError();
  return {TPSP_RT_INTERNAL,
          fmt::format("{} failed: {}", call, cublasLtGetStatusString(result))};
}

Status checkNccl(ncclResult_t result, const char *call,
                 ncclComm_t communicator) {
  if (result == ncclSuccess)
    return {};
  const char *detail = ncclGetLastError(communicator);
  bool says = detail && *detail;
  return {TPSP_RT_INTERNAL,
          fmt::format("{} failed: {}{}{}", call, ncclGetErrorString(result),
                      says ? ": " : "", says ? detail : "")};
}

} // namespace tpsp::rt
