/// Checks calls to CUDA, cuBLASLt and NCCL. Every call uses these macros, so
/// that a failure has the call's name and the library's message. A caller adds
/// the command's name (inCall).
///
///     TPSP_CUDA(cudaMalloc, &address, bytes); // returns a Status on failure
#ifndef TPSP_RUNTIME_CUDA_CORE_CUDACHECK_H
#define TPSP_RUNTIME_CUDA_CORE_CUDACHECK_H

#include "tpsp/Abi/Status.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

namespace tpsp::rt {

/// INTERNAL: "cudaMalloc failed: out of memory (cudaErrorMemoryAllocation)".
Status checkCuda(cudaError_t result, const char *call);
Status checkCublas(cublasStatus_t result, const char *call);
/// `communicator` is the call's, for NCCL's own message, or null.
Status checkNccl(ncclResult_t result, const char *call,
                 ncclComm_t communicator = nullptr);

} // namespace tpsp::rt

#define TPSP_CUDA(FUNCTION, ...)                                               \
  TPSP_TRY(::tpsp::rt::checkCuda(FUNCTION(__VA_ARGS__), #FUNCTION))
#define TPSP_CUBLAS(FUNCTION, ...)                                             \
  TPSP_TRY(::tpsp::rt::checkCublas(FUNCTION(__VA_ARGS__), #FUNCTION))
#define TPSP_NCCL(COMMUNICATOR, FUNCTION, ...)                                 \
  TPSP_TRY(                                                                    \
      ::tpsp::rt::checkNccl(FUNCTION(__VA_ARGS__), #FUNCTION, COMMUNICATOR))

#endif // TPSP_RUNTIME_CUDA_CORE_CUDACHECK_H
