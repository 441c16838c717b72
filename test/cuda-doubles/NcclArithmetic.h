/// Combines elements as the double of NCCL does.
#ifndef TPSP_TEST_CUDADOUBLES_NCCLARITHMETIC_H
#define TPSP_TEST_CUDADOUBLES_NCCLARITHMETIC_H

#include <nccl.h>

#include <cstddef>

namespace tpsp::doubles {

/// Bytes of an element.
size_t widthOf(ncclDataType_t type);

/// Combines one element: dst = dst op src, rounded to the type at once, as NCCL
/// does.
void combineAt(ncclDataType_t type, char *dst, const char *src, bool isMax);

} // namespace tpsp::doubles

#endif // TPSP_TEST_CUDADOUBLES_NCCLARITHMETIC_H
