/// Reads sizes from PTX, for the double of libcudart.
#ifndef TPSP_TEST_CUDADOUBLES_PTXTEXT_H
#define TPSP_TEST_CUDADOUBLES_PTXTEXT_H

#include <cstddef>
#include <string>

namespace tpsp::doubles {

/// Returns bytes of static shared memory of a block of the kernel `entry`. They
/// are the variables declared in the kernel and those of the module that the
/// kernel names. `.extern` variables are excluded: the launch sizes them.
size_t staticSharedBytes(const std::string &ptx, const std::string &entry);

/// Returns the bytes of parameters of the kernel with the most.
size_t mostParameterBytes(const std::string &ptx);

} // namespace tpsp::doubles

#endif // TPSP_TEST_CUDADOUBLES_PTXTEXT_H
