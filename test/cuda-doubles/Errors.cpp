// Names and texts of errors. As a thread's last error only "not ready" is kept.
// It is no failure and easily forgotten. But a library that reads the last
// error after launching a kernel would take it for its own.
#include "DoubleStream.h"

#include <utility>

namespace {

struct Error {
  cudaError_t code;
  const char *name, *words;
};

constexpr Error errors[] = {
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidPtx, "cudaErrorInvalidPtx",
     "a PTX JIT compilation failed"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound",
     "named symbol not found"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure",
     "unspecified launch failure"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined",
     "the end of capture was called on a stream with unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

} // namespace

TPSP_DOUBLE const char *cudaGetErrorName(cudaError_t error) {
  for (const Error &each : errors)
    if (each.code == error)
      return each.name;
  return "cudaError";
}

TPSP_DOUBLE const char *cudaGetErrorString(cudaError_t error) {
  for (const Error &each : errors)
    if (each.code == error)
      return each.words;
  return "an error";
}

thread_local cudaError_t lastError = cudaSuccess;

cudaError_t doubleNotReady() { return lastError = cudaErrorNotReady; }

TPSP_DOUBLE cudaError_t cudaPeekAtLastError() { return lastError; }

TPSP_DOUBLE cudaError_t cudaGetLastError() {
  return std::exchange(lastError, cudaSuccess);
}
