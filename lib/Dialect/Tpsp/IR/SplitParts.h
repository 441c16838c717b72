/// Which dimensions of a split tensor belong to which dimension of the merged
/// one.
#ifndef TPSP_DIALECT_TPSP_IR_SPLITPARTS_H
#define TPSP_DIALECT_TPSP_IR_SPLITPARTS_H

#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"

namespace tpsp {

/// For every dimension of `merged`, the number of adjacent dimensions of
/// `split` that are its parts. An index whose name both tensors have is its own
/// single part. Another index takes dimensions until their extents multiply to
/// its own. It also takes the following dimensions of extent 1, unless they are
/// the next index's. Dimensions left over at the end belong to none.
///
///   [a = 6, f = 1] and [n0 = 6, n1 = 1, f = 1]:  2, 1
llvm::SmallVector<unsigned> splitParts(mlir::RankedTensorType merged,
                                       mlir::RankedTensorType split);

/// The index structure of splitting `merged`'s dimensions into `split`'s. For a
/// merge, operand and result are swapped. A merged dimension has its parts as
/// its indices.
IndexStructure structureOfSplit(mlir::RankedTensorType merged,
                                mlir::RankedTensorType split);

/// The index structure of an operation whose operand and result correspond
/// dimension by dimension, whatever their names.
IndexStructure structureByPosition(mlir::RankedTensorType operand,
                                   mlir::RankedTensorType result);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_SPLITPARTS_H
