/// Replaces composites by their parts.
#ifndef TPSP_PASSES_LOGICAL_DECOMPOSE_H
#define TPSP_PASSES_LOGICAL_DECOMPOSE_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp {

using SelectComposite = llvm::function_ref<bool(DecomposableOpInterface)>;
using BuildParts =
    llvm::function_ref<mlir::Value(DecomposableOpInterface, mlir::OpBuilder &)>;

/// Decomposes the composites under `root` for which `select` returns true. The
/// parts get the composite's phase and location. Only the last part keeps the
/// composite's name, unless `tellsPartsApart` is set. Then parts are named
/// after both: "o.softmax".
void decompose(mlir::Operation *root, bool tellsPartsApart,
               SelectComposite select);

/// The same with other parts than the composite's usual ones.
void decompose(mlir::Operation *root, bool tellsPartsApart,
               SelectComposite select, BuildParts build);

/// Replaces attention that has a sink, and that `select` returns true for, by
/// attention without one and corrections of its results. The shapes under
/// `root` are one rank's.
void takeOutSinks(mlir::Operation *root,
                  llvm::function_ref<bool(mlir::Operation *)> select);

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_DECOMPOSE_H
