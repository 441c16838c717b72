/// Attention that a program writes out: a product, a softmax, a product.
#ifndef TPSP_PASSES_LOGICAL_WRITTENATTENTION_H
#define TPSP_PASSES_LOGICAL_WRITTENATTENTION_H

#include "mlir/IR/Operation.h"

namespace tpsp {

/// Warns of every attention that is written out in `root`, where attention was
/// asked for in one call: only the operation itself is done so. Once for each
/// place in the source.
void warnOfWrittenAttention(mlir::Operation *root);

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_WRITTENATTENTION_H
