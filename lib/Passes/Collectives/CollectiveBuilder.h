/// Collectives from the algebra's steps.
#ifndef TPSP_PASSES_COLLECTIVES_COLLECTIVEBUILDER_H
#define TPSP_PASSES_COLLECTIVES_COLLECTIVEBUILDER_H

#include "tpsp/Dialect/Tpsp/TpspDialect.h"

namespace tpsp {

/// Builds the operation of one step of a transition of `value`. `loc` is the
/// operation's that asked for it, `reason` the rule, and `tensor` names the
/// value: for the ledger.
mlir::Value createCollective(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value value, const CollectiveStep &step,
                             const Mesh &mesh, llvm::StringRef reason,
                             llvm::StringRef tensor);

/// Gives `to` the phase of `from`: the backward pass, the micro-batch.
void copyPhase(mlir::Operation *from, mlir::Operation *to);

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_COLLECTIVEBUILDER_H
