/// The tests' kernels on a GPU: for each kernel of the suite, which is a
/// function for a CPU, one of the same effect in DeviceTwins.cu.
#ifndef TPSP_TEST_CONFORMANCE_DEVICETWINS_H
#define TPSP_TEST_CONFORMANCE_DEVICETWINS_H

#include "tpsp/Abi/tpsp_rt.h"

namespace tpsp::rt::conformance {

/// Says that `kernel` is `entry` of DeviceTwins.cu on a GPU. `sharedBytes`: of
/// a block, that the launch asks for. Returns true.
bool addDeviceTwin(tpsp_rt_kernel_function kernel, const char *entry,
                   int64_t sharedBytes = 0);

/// The same for a kernel without buffers that speaks to the test. On doubles
/// it is `kernel` itself; on a GPU it does nothing, so that tests of it are
/// skipped there ("kernels that speak to the test").
bool addSpeakingTwin(tpsp_rt_kernel_function kernel, const char *entry);

/// Null if there is none, or the build has no CUDA toolkit.
const tpsp_rt_device_kernel *deviceTwin(tpsp_rt_kernel_function kernel);

/// Why the CUDA backend cannot be had with at least `devices` GPUs, each rank
/// its own, or, for 1, with all ranks on one; or "". Loads the backend.
const char *cudaProblem(int devices);

/// Whether CUDA's libraries are doubles (test/cuda-doubles).
bool isOnDoubles();

/// A function of the double of libcudart, or null on the real one.
void *findInDouble(const char *name);

} // namespace tpsp::rt::conformance

#endif // TPSP_TEST_CONFORMANCE_DEVICETWINS_H
