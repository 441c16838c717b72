/// Collectives from the algebra's steps.
#ifndef TPSP_PASSES_COLLECTIVES_COLLECTIVEBUILDER_H
#define TPSP_PASSES_COLLECTIVES_COLLECTIVEBUILDER_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp {

/// Builds the operation of one step of a transition of `value`. `loc` is the
/// operation's that asked for it, `reason` the rule, and `tensor` names the
/// value: for the ledger.
mlir::Value createCollective(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value value, const CollectiveStep &step,
                             const Mesh &mesh, llvm::StringRef reason,
                             llvm::StringRef tensor);

/// Brings a tensor of `op`, an operand or a result, to a placement, for what
/// `reason` says of each step. Returns what each step makes of it; nothing if
/// it is there. A whole tensor cannot become partial.
llvm::SmallVector<mlir::Value>
moveTensor(mlir::OpBuilder &builder, IndexedOpInterface op, mlir::Value value,
           const Placement &to, const Mesh &mesh,
           llvm::function_ref<std::string(const CollectiveStep &)> reason);

/// Makes one collective of several of one kind, before `place`, and erases
/// these. Its ledger names all their tensors,
/// reasons and arguments.
mlir::Operation *
mergeCollectives(llvm::ArrayRef<CollectiveOpInterface> collectives,
                 mlir::Operation *place);

/// The last of `steps` takes the place of `result`, of which they are made.
void replaceByMoved(mlir::Value result, llvm::ArrayRef<mlir::Value> steps);

/// The type of the sum of some of a sum's operands. It has those of the
/// result's indices that they carry: the rest of the operands may broadcast it
/// along the others.
mlir::RankedTensorType typeOfSum(llvm::ArrayRef<mlir::Value> summands,
                                 mlir::Type result);

/// Says so where fewer bytes could be had for more collectives or more work.
void noteFewerBytes(IndexedOpInterface op, const PlacedOperation &placed,
                    const ComputePlacement &choice);

/// The error of an operation that has no legal compute placement.
mlir::LogicalResult refusePlacement(IndexedOpInterface op);

/// Gives `to` the phase of `from`: the backward pass, the micro-batch.
void copyPhase(mlir::Operation *from, mlir::Operation *to);

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_COLLECTIVEBUILDER_H
