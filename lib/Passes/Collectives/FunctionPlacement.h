/// The compute placements of a function's operations, chosen together
/// (Algebra/PlacementSearch.h).
///
/// The forward pass is decided as if there were no backward pass. So a program
/// runs alike with and without gradients. Nothing that was gathered for the
/// forward pass stays in memory for the backward pass. Then the backward pass
/// is decided.
///
/// All micro-batches are decided alike (MicroBatchTwins.h). So what
/// micro-batches add up stays where it comes out until the last one's addition.
///
/// What the user placed stays where it is. A value that propagation placed may
/// stay as its operation leaves it. So may a gradient that nobody placed.
/// Another gradient may stay a pending sum.
#ifndef TPSP_PASSES_COLLECTIVES_FUNCTIONPLACEMENT_H
#define TPSP_PASSES_COLLECTIVES_FUNCTIONPLACEMENT_H

#include "tpsp/Algebra/PlacementSearch.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

class FunctionPlacement {
public:
  /// Where an operation leaves a result.
  struct Home {
    Placement placement;
    /// Whether that is where it is wanted. Else axes that divide one dimension
    /// may also come in another order.
    bool isWanted = false;
  };
  /// What was decided of one operation.
  struct Decision {
    llvm::SmallVector<Drive, 2> drives;
    llvm::SmallVector<Home, 1> results;
  };

  FunctionPlacement(mlir::FunctionOpInterface function, const Mesh &mesh);

  /// Null if the function has no legal placement as a whole: then the operation
  /// at fault has none where its operands are.
  const Decision *of(IndexedOpInterface op) const;

  /// What was asked of the search: the forward pass, the backward pass.
  llvm::ArrayRef<PlacementProblem> problems() const { return asked; }

private:
  /// Whether the phase can be placed.
  bool decide(llvm::ArrayRef<IndexedOpInterface> phase);
  /// As its twin of the last micro-batch; sums stay where their summands do.
  void decideAs(IndexedOpInterface op, mlir::Operation *twin);

  const Mesh &mesh;
  llvm::DenseMap<mlir::Value, Placement> homes;
  llvm::DenseMap<mlir::Operation *, Decision> decisions;
  std::vector<PlacementProblem> asked;
};

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_FUNCTIONPLACEMENT_H
