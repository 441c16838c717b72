/// Interfaces of operations whose kernels work by row or by bucket.
#ifndef TPSP_PASSES_KERNELS_KERNELINTERFACES_H
#define TPSP_PASSES_KERNELS_KERNELINTERFACES_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "tpsp/Passes/Kernels/KernelInterfaces.h.inc"

namespace tpsp {

/// The indices of the result, in its order, that are not part of a row of `op`.
/// There is one work item for each of their positions.
llvm::SmallVector<llvm::StringRef> gridIndices(RowKernelOpInterface op);

/// The indices of the tensors that `op` makes by bucket, without those that a
/// range of buckets handles whole.
llvm::SmallVector<llvm::StringRef> gridIndices(BucketKernelOpInterface op);

/// Attaches the external models of these interfaces to their operations when
/// the tpsp dialect is loaded.
void registerKernelModels(mlir::DialectRegistry &registry);

} // namespace tpsp

#endif // TPSP_PASSES_KERNELS_KERNELINTERFACES_H
