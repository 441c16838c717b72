/// What the doubles of CUDA's libraries share, and what a test may ask of them:
/// exported by the double of libcudart under the names below, so that a test
/// finds out by dlsym whether it runs on doubles.
#ifndef TPSP_TEST_CUDADOUBLES_DOUBLES_H
#define TPSP_TEST_CUDADOUBLES_DOUBLES_H

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

#define TPSP_DOUBLE extern "C" __attribute__((visibility("default")))

/// A kernel on the host. `parameters`: as cudaLaunchKernel takes them, of the
/// sizes that were registered.
using DoubleKernel = std::function<void(dim3 grid, dim3 block,
                                        size_t sharedBytes, void **parameters)>;

// What a test may ask. Thread-safe.

/// Launching the kernel `entry` calls `function`. `sizes`: of its parameters,
/// in bytes.
TPSP_DOUBLE void tpspDoubleRegisterKernel(const char *entry,
                                          const DoubleKernel &function,
                                          const size_t *sizes, int count);
/// How many GPUs there are; before the first call, TPSP_DOUBLE_DEVICES or 1.
TPSP_DOUBLE void tpspDoubleSetDevices(int count);
/// Call number `occurrence` (from 1) from now on of the function `name` fails.
/// "kernel" is the execution of a kernel.
TPSP_DOUBLE void tpspDoubleFail(const char *name, int occurrence);
/// Whether the failure asked for has happened. Forgets it.
TPSP_DOUBLE bool tpspDoubleHasFailed();
/// How many calls there were of a function since tpspDoubleForgetCalls.
TPSP_DOUBLE int tpspDoubleCalls(const char *name);
TPSP_DOUBLE void tpspDoubleForgetCalls();
/// Memory, streams, events, ... that were made and not destroyed.
TPSP_DOUBLE long tpspDoubleLiveObjects();

/// What NCCL's double calls itself, as NCCL_VERSION_CODE; 0: what it was built
/// with.
TPSP_DOUBLE void tpspDoubleSetNcclVersion(int version);
/// tpspDoubleCalls() of this are allocations, and kernels that are brought to a
/// GPU, where the real driver may wait for ever: behind a collective of NCCL
/// whose end nobody has seen, or before one that other GPUs have begun.
constexpr const char *tpspDoubleStuck = "work that waits for a collective";

// What the doubles of the other libraries use.

/// Counts a call; true if it is to fail.
TPSP_DOUBLE bool tpspDoubleEnter(const char *name);
TPSP_DOUBLE void tpspDoubleCountObjects(long change);
TPSP_DOUBLE int tpspDoubleNcclVersion();
/// A collective is about to be enqueued. False where it is captured.
TPSP_DOUBLE bool tpspDoubleBeginCollective(cudaStream_t stream);
/// So many collectives more have begun on other GPUs that wait for this one.
TPSP_DOUBLE void tpspDoubleAwait(int device, int change);

/// Enqueues `task` on a stream, or captures it.
__attribute__((visibility("default"))) cudaError_t
doubleEnqueue(cudaStream_t stream, std::function<void()> task);

#endif // TPSP_TEST_CUDADOUBLES_DOUBLES_H
