/// How far a matmul's operands reach in memory.
#ifndef TPSP_ABI_MATMULSPAN_H
#define TPSP_ABI_MATMULSPAN_H

#include "tpsp/Abi/Commands.h"

namespace tpsp::rt {

/// Elements from the first to one past the last that the matmul touches of each
/// operand; 0 if it touches none.
struct MatmulSpans {
  int64_t a = 0, b = 0, c = 0;
};

/// False if one is not an int64_t. Extents and strides are not negative.
bool matmulSpans(const MatmulCommand &command, MatmulSpans &out);

} // namespace tpsp::rt

#endif // TPSP_ABI_MATMULSPAN_H
