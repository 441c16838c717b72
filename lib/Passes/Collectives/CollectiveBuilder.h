/// Builds collectives from the algebra's steps.
#ifndef TPSP_PASSES_COLLECTIVES_COLLECTIVEBUILDER_H
#define TPSP_PASSES_COLLECTIVES_COLLECTIVEBUILDER_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp {

/// Builds the operation of one step of a transition of `value`. `loc` is the
/// location of the operation that needs it, and `reason` the rule that asks for
/// it. `tensor` is the value's name in the ledger.
mlir::Value createCollective(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value value, const CollectiveStep &step,
                             const Mesh &mesh, llvm::StringRef reason,
                             llvm::StringRef tensor);

/// Brings `value`, an operand or result of `op`, to the placement `to`.
/// `reason` gives the reason of each step. Returns the result of each step;
/// empty if the value is placed so already. A tensor that is not partial cannot
/// become partial.
llvm::SmallVector<mlir::Value>
moveTensor(mlir::OpBuilder &builder, IndexedOpInterface op, mlir::Value value,
           const Placement &to, const Mesh &mesh,
           llvm::function_ref<std::string(const CollectiveStep &)> reason);

/// Replaces a placed operation by a collective if ranks hand their shards on by
/// it (getHandOn). Fails with a diagnostic if axes divide the shards among
/// fewer ranks.
mlir::LogicalResult handOnShards(mlir::OpBuilder &builder,
                                 IndexedOpInterface op, const Mesh &mesh);

/// Merges several collectives of one kind into one, before `place`, and erases
/// them. The ledger row of the merged collective names all their tensors,
/// reasons and arguments.
mlir::Operation *
mergeCollectives(llvm::ArrayRef<CollectiveOpInterface> collectives,
                 mlir::Operation *place);

/// Replaces `result` by the last of `steps`, which were built from it.
void replaceByMoved(mlir::Value result, llvm::ArrayRef<mlir::Value> steps);

/// The type of a partial sum over some of a sum's operands. It has the indices
/// of the result that these operands carry. The remaining operands may
/// broadcast it along the others.
mlir::RankedTensorType typeOfSum(llvm::ArrayRef<mlir::Value> summands,
                                 mlir::Type result);

/// Emits a remark if fewer bytes could be sent for more collectives or more
/// work.
void noteFewerBytes(IndexedOpInterface op, const PlacedOperation &placed,
                    const ComputePlacement &choice);

/// The error of an operation that has no legal compute placement.
mlir::LogicalResult refusePlacement(IndexedOpInterface op);

/// Copies the phase of `from` to `to`: the backward pass and the micro-batch.
void copyPhase(mlir::Operation *from, mlir::Operation *to);

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_COLLECTIVEBUILDER_H
