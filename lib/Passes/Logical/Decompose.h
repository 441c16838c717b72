/// Composites into their parts.
#ifndef TPSP_PASSES_LOGICAL_DECOMPOSE_H
#define TPSP_PASSES_LOGICAL_DECOMPOSE_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp {

/// Replaces the composites under `root` that `select` takes. The parts are in
/// the composite's phase and place, without its name, which the last one keeps;
/// `tellsPartsApart` names them after both: "o.softmax".
void decompose(mlir::Operation *root, bool tellsPartsApart,
               llvm::function_ref<bool(DecomposableOpInterface)> select);

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_DECOMPOSE_H
