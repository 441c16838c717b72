/// The suite's kernels for the double of libcudart.
#ifndef TPSP_TEST_CONFORMANCE_DEVICETWINSONHOST_H
#define TPSP_TEST_CONFORMANCE_DEVICETWINSONHOST_H

#include "../cuda-doubles/Doubles.h"

#include "tpsp/Abi/tpsp_rt.h"

#include <map>

namespace tpsp::rt::conformance {

/// Registers the kernels. `add` is the double's tpspDoubleRegisterKernel.
/// `speaking` has, by name, kernels without buffers that run as they are.
void registerTwinsOnHost(
    decltype(&tpspDoubleRegisterKernel) add,
    const std::map<const char *, tpsp_rt_kernel_function> &speaking);

} // namespace tpsp::rt::conformance

#endif // TPSP_TEST_CONFORMANCE_DEVICETWINSONHOST_H
