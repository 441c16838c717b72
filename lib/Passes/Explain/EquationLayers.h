/// Which equations of a program are layers that come again.
#ifndef TPSP_PASSES_EXPLAIN_EQUATIONLAYERS_H
#define TPSP_PASSES_EXPLAIN_EQUATIONLAYERS_H

#include "Equations.h"

namespace tpsp {

/// What to write of equations, in order.
struct EquationBlock {
  /// Numbers of equations.
  std::vector<size_t> equations;
  /// How often the block comes; the equations are those of the first time.
  size_t times = 1;
  /// "layer0" and "layer31"; "" where the calls have no names.
  std::string firstCall, lastCall;
  /// What the first is handed, and what the second has in its place.
  std::vector<std::pair<mlir::Value, mlir::Value>> handedOn;
};

/// Layers are equal in equations, placements, extents and collectives; not in
/// their calls' seeds, which are of each call. Collectives that only the
/// function's result waits for may be of several layers (buckets); if need be
/// they follow the layers that they stand between.
std::vector<EquationBlock> blocksOf(llvm::ArrayRef<Equation> equations,
                                    const Mesh &mesh, bool everyLayer);

} // namespace tpsp

#endif // TPSP_PASSES_EXPLAIN_EQUATIONLAYERS_H
