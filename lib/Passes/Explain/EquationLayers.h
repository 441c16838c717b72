/// Which equations of a program are layers that come again.
#ifndef TPSP_PASSES_EXPLAIN_EQUATIONLAYERS_H
#define TPSP_PASSES_EXPLAIN_EQUATIONLAYERS_H

#include "Equations.h"

#include "tpsp/Passes/Program/Repetition.h"

namespace tpsp {

/// Equations that are written as one block.
struct EquationBlock {
  /// Numbers of equations.
  std::vector<size_t> equations;
  /// How often the block is repeated. The equations are those of its first
  /// time, and `repeated` are those of the other times, in order.
  size_t times = 1;
  std::vector<size_t> repeated;
  /// "layer0" and "layer31"; "" where the calls have no names.
  std::string firstCall, lastCall;
  /// Pairs of a value that the first block is handed, and the value that takes
  /// its place in the second block.
  std::vector<std::pair<mlir::Value, mlir::Value>> handedOn;
};

/// Returns the blocks of `equations`, in order. Layers are equal if their
/// equations, placements, extents and collectives are; the seeds of their calls
/// may differ. Collectives that only the function's result waits for may belong
/// to several layers (buckets). If need be, they follow the layers that they
/// stand between.
std::vector<EquationBlock> blocksOf(llvm::ArrayRef<Equation> equations,
                                    const Mesh &mesh,
                                    const Repetition &repetition,
                                    bool everyLayer);

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_EQUATIONLAYERS_H
