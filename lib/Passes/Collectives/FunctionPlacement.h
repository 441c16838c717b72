/// The compute placements of a function's operations, chosen together
/// (Algebra/PlacementSearch.h).
///
/// The forward pass is decided first, as if there were no backward pass. So a
/// program runs alike with and without gradients. No gathered tensor of the
/// forward pass stays in memory for the backward pass. Then the backward pass
/// is decided.
///
/// All micro-batches are decided alike (MicroBatchTwins.h). So sums over
/// micro-batches stay in the placement that they are computed in until the last
/// micro-batch is added.
///
/// Placements that the user wrote are kept. A value that propagation placed may
/// keep the placement that its operation computes. So may a gradient without a
/// written placement. Any other gradient may stay a pending sum.
#ifndef TPSP_PASSES_COLLECTIVES_FUNCTIONPLACEMENT_H
#define TPSP_PASSES_COLLECTIVES_FUNCTIONPLACEMENT_H

#include "tpsp/Algebra/PlacementSearch.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

class FunctionPlacement {
public:
  /// The placement in which an operation leaves a result.
  struct Home {
    Placement placement;
    /// Whether this is the wanted placement. If not, axes that divide one
    /// dimension may be in another order.
    bool isWanted = false;
  };
  /// The decision for one operation.
  struct Decision {
    llvm::SmallVector<Drive, 2> drives;
    llvm::SmallVector<Home, 1> results;
  };

  FunctionPlacement(mlir::FunctionOpInterface function, const Mesh &mesh);

  /// Null if the function has no legal placement as a whole. Then the operation
  /// at fault has no legal compute placement for its operands' placements.
  const Decision *of(IndexedOpInterface op) const;

  /// The problems given to the search: the forward pass, then the backward
  /// pass.
  llvm::ArrayRef<PlacementProblem> problems() const { return asked; }

private:
  /// Decides a phase; false if it cannot be placed. isLoop: whether one
  /// micro-batch stands for all.
  bool decide(llvm::ArrayRef<IndexedOpInterface> phase, bool isLoop);
  /// Decides an operation like its twin of the last micro-batch; sums keep the
  /// placement of their summands.
  void decideAs(IndexedOpInterface op, mlir::Operation *twin);

  const Mesh &mesh;
  llvm::DenseMap<mlir::Value, Placement> homes;
  llvm::DenseMap<mlir::Operation *, Decision> decisions;
  std::vector<PlacementProblem> asked;
};

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_FUNCTIONPLACEMENT_H
