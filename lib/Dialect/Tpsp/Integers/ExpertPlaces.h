/// The places of tokens' choices at experts.
#ifndef TPSP_DIALECT_TPSP_INTEGERS_EXPERTPLACES_H
#define TPSP_DIALECT_TPSP_INTEGERS_EXPERTPLACES_H

#include "tpsp/Dialect/Tpsp/Integers/IntegerOps.h"

namespace tpsp {

/// Where dispatch puts choices and combine finds them. It is in the slots of an
/// expert or, with the load of experts, the rows of a block of experts.
class ExpertPlaces {
public:
  explicit ExpertPlaces(DispatchOp op);
  explicit ExpertPlaces(CombineOp op);

  int64_t experts() const;
  /// The indices whose positions the integers are.
  llvm::SmallVector<llvm::StringRef> indices() const;
  /// For every choice, its expert or its expert's block, and its place there.
  llvm::SmallVector<mlir::Value> integers(mlir::OpBuilder &b) const;

  /// Whether there may be more choices than places. A router chooses an expert
  /// at most once for a token, which bounds the number.
  bool areTooFew() const;
  /// The number of choices without a place, for each group.
  mlir::Value dropped(mlir::OpBuilder &b) const;

private:
  ExpertPlaces(mlir::Operation *op, llvm::StringRef expert,
               llvm::StringRef slot, llvm::StringRef choice, bool hasLoad,
               mlir::Value slots);

  mlir::RankedTensorType typeOfIds() const;
  /// The indices that choices compete along, `choice` first.
  llvm::SmallVector<llvm::StringRef> rivals() const;
  mlir::Value slotsOf(mlir::OpBuilder &b) const;

  mlir::Operation *op;
  llvm::StringRef expert, slot, choice;
  /// The index of blocks of experts; empty if there are none.
  llvm::StringRef block;
  mlir::Value ids, load, slots;
};

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_INTEGERS_EXPERTPLACES_H
