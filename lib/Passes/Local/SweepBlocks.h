/// Blocks of one rank's tensors along an index.
#ifndef TPSP_PASSES_LOCAL_SWEEPBLOCKS_H
#define TPSP_PASSES_LOCAL_SWEEPBLOCKS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tpsp {

/// `type` with `extent` positions of `index`, and no subscripts there: which
/// positions they are, a tile says.
mlir::RankedTensorType blockType(mlir::RankedTensorType type,
                                 llvm::StringRef index, int64_t extent);

/// Part `at` of `parts` of a tensor along `index`.
mlir::Value partOf(mlir::OpBuilder &b, mlir::Value tile, llvm::StringRef index,
                   int64_t parts, int64_t at);

/// The inverse: parts along `index`, as one tensor of `type`.
mlir::Value joined(mlir::OpBuilder &b, llvm::ArrayRef<mlir::Value> parts,
                   mlir::RankedTensorType type, llvm::StringRef index);

} // namespace tpsp

#endif // TPSP_PASSES_LOCAL_SWEEPBLOCKS_H
