/// How the dimensions of a split tensor belong to those of the merged one.
#ifndef TPSP_DIALECT_TPSP_IR_SPLITPARTS_H
#define TPSP_DIALECT_TPSP_IR_SPLITPARTS_H

#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"

namespace tpsp {

/// For every dimension of `merged`, how many adjacent ones of `split` are its
/// parts. An index whose name both have is its own single part. Another index
/// takes dimensions until their extents multiply to its own. It also takes
/// those of extent 1 that follow, unless they are the next index's. What is
/// left over at the end is nobody's.
///
///   [a = 6, f = 1] and [n0 = 6, n1 = 1, f = 1]:  2, 1
llvm::SmallVector<unsigned> splitParts(mlir::RankedTensorType merged,
                                       mlir::RankedTensorType split);

/// The structure of splitting `merged`'s dimensions into `split`'s, in that
/// direction; merging swaps operand and result. A merged dimension has its
/// parts as its indices.
IndexStructure structureOfSplit(mlir::RankedTensorType merged,
                                mlir::RankedTensorType split);

/// The structure of an operation whose dimension i of the operand is dimension
/// i of the result, whatever the names.
IndexStructure structureByPosition(mlir::RankedTensorType operand,
                                   mlir::RankedTensorType result);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_SPLITPARTS_H
