/// The tests' kernels on a GPU. Each kernel of the suite is a function for a
/// CPU; DeviceTwins.cu has one with the same effect.
#ifndef TPSP_TEST_CONFORMANCE_DEVICETWINS_H
#define TPSP_TEST_CONFORMANCE_DEVICETWINS_H

#include "tpsp/Abi/tpsp_rt.h"

namespace tpsp::rt::conformance {

/// Registers `entry` of DeviceTwins.cu as `kernel` on a GPU. `sharedBytes` is
/// the shared memory of a block that the launch requests. Returns true.
bool addDeviceTwin(tpsp_rt_kernel_function kernel, const char *entry,
                   int64_t sharedBytes = 0);

/// The same for a kernel without buffers that communicates with the test. On
/// doubles it is `kernel` itself. On a GPU it does nothing, so tests that need
/// it are skipped there ("kernels that speak to the test").
bool addSpeakingTwin(tpsp_rt_kernel_function kernel, const char *entry);

/// Returns the kernel for GPUs; null if there is none, or if the build has no
/// CUDA toolkit.
const tpsp_rt_device_kernel *deviceTwin(tpsp_rt_kernel_function kernel);

/// Returns why the CUDA backend cannot run on `devices` GPUs, one for each
/// rank, or "". With 1 all ranks share a GPU. Loads the backend.
const char *cudaProblem(int devices);

/// Whether CUDA's libraries are doubles (test/cuda-doubles).
bool isOnDoubles();

/// Returns a function of the double of libcudart, or null with the real one.
void *findInDouble(const char *name);

} // namespace tpsp::rt::conformance

#endif // TPSP_TEST_CONFORMANCE_DEVICETWINS_H
