/// What the double of libcudart reads out of PTX.
#ifndef TPSP_TEST_CUDADOUBLES_PTXTEXT_H
#define TPSP_TEST_CUDADOUBLES_PTXTEXT_H

#include <cstddef>
#include <string>

namespace tpsp::doubles {

/// Bytes of shared memory that a block of the kernel `entry` has without asking
/// for any: of the variables that are declared in the kernel, and of those of
/// the module that the kernel names. What is `.extern` comes with the launch.
size_t staticSharedBytes(const std::string &ptx, const std::string &entry);

/// Bytes of parameters of the kernel that has most.
size_t mostParameterBytes(const std::string &ptx);

} // namespace tpsp::doubles

#endif // TPSP_TEST_CUDADOUBLES_PTXTEXT_H
