/// Collectives from the algebra's steps.
#ifndef TPSP_PASSES_COLLECTIVEBUILDER_H
#define TPSP_PASSES_COLLECTIVEBUILDER_H

#include "tpsp/Dialect/Tpsp/TpspDialect.h"

namespace tpsp {

/// Builds the operation of one step of a transition of `value`. `reason` says
/// which rule asked for it and `tensor` names the value, for the ledger.
mlir::Value createCollective(mlir::OpBuilder &builder, mlir::Value value,
                             const CollectiveStep &step, const Mesh &mesh,
                             llvm::StringRef reason, llvm::StringRef tensor);

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVEBUILDER_H
