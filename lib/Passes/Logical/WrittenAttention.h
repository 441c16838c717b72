/// Attention that a program writes out as a product, a softmax and a product.
#ifndef TPSP_PASSES_LOGICAL_WRITTENATTENTION_H
#define TPSP_PASSES_LOGICAL_WRITTENATTENTION_H

#include "mlir/IR/Operation.h"

namespace tpsp {

/// Warns about every attention in `root` that is written out, although
/// attention in one call was requested. Only tpsp.attention itself becomes a
/// call. Warns once for each place in the source.
void warnOfWrittenAttention(mlir::Operation *root);

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_WRITTENATTENTION_H
