/// Functions that the doubles of CUDA's libraries share, and functions for
/// tests. The double of libcudart exports them under the names below. A test
/// finds out by dlsym whether it runs on doubles.
#ifndef TPSP_TEST_CUDADOUBLES_DOUBLES_H
#define TPSP_TEST_CUDADOUBLES_DOUBLES_H

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

#define TPSP_DOUBLE extern "C" __attribute__((visibility("default")))

/// A kernel on the host. `parameters` is as for cudaLaunchKernel; the sizes are
/// those that were registered.
using DoubleKernel = std::function<void(dim3 grid, dim3 block,
                                        size_t sharedBytes, void **parameters)>;

// Functions for tests. Thread-safe.

/// Makes launches of the kernel `entry` call `function`. `sizes` are the bytes
/// of each parameter.
TPSP_DOUBLE void tpspDoubleRegisterKernel(const char *entry,
                                          const DoubleKernel &function,
                                          const size_t *sizes, int count);
/// Sets the number of GPUs, which is initially TPSP_DOUBLE_DEVICES or 1.
TPSP_DOUBLE void tpspDoubleSetDevices(int count);
/// Makes the `occurrence`-th call (from 1) of the function `name` from now on
/// fail. "kernel" stands for the execution of a kernel.
TPSP_DOUBLE void tpspDoubleFail(const char *name, int occurrence);
/// Returns whether the requested failure has happened, and forgets it.
TPSP_DOUBLE bool tpspDoubleHasFailed();
/// Returns the number of calls of a function since tpspDoubleForgetCalls.
TPSP_DOUBLE int tpspDoubleCalls(const char *name);
TPSP_DOUBLE void tpspDoubleForgetCalls();
/// Returns how many objects (memory, streams, events, ...) were made and not
/// destroyed.
TPSP_DOUBLE long tpspDoubleLiveObjects();

/// Sets the version of NCCL's double, as NCCL_VERSION_CODE. 0 stands for the
/// version of its header.
TPSP_DOUBLE void tpspDoubleSetNcclVersion(int version);
/// The name under which tpspDoubleCalls() counts allocations, and loads of
/// kernels onto a GPU, in which the real driver may wait for ever. That is
/// after a collective of NCCL for whose end nobody has waited, or before one
/// that other GPUs have begun.
constexpr const char *tpspDoubleStuck = "work that waits for a collective";

// Functions for the doubles of the other libraries.

/// Counts a call. Returns true if it is to fail.
TPSP_DOUBLE bool tpspDoubleEnter(const char *name);
TPSP_DOUBLE void tpspDoubleCountObjects(long change);
TPSP_DOUBLE int tpspDoubleNcclVersion();
/// Notes that a collective is about to be enqueued. Returns false if it is
/// captured instead.
TPSP_DOUBLE bool tpspDoubleBeginCollective(cudaStream_t stream);
/// Adds `change` to the number of collectives that other GPUs have begun and
/// that wait for this one.
TPSP_DOUBLE void tpspDoubleAwait(int device, int change);

/// Enqueues `task` on a stream, or captures it.
__attribute__((visibility("default"))) cudaError_t
doubleEnqueue(cudaStream_t stream, std::function<void()> task);

#endif // TPSP_TEST_CUDADOUBLES_DOUBLES_H
