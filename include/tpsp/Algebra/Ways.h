/// The choices of a single mesh axis in an operation, with their costs.
/// Messages list them as ways out of an illegal or an ambiguous program.
///
/// A price counts one axis alone. In y[b, s, e] = W[e@a, d] x[b@a, s, d], if tp
/// also divides s, the axis a may drive
///
///   e   x is gathered along b       bytes of x, as tp leaves it on a rank
///   b   W is gathered along e       bytes of W
///   -   both are gathered           bytes of both
///
/// An unplaced result is priced as complete: if it comes out as a pending sum,
/// the price includes the all-reduce.
#ifndef TPSP_ALGEBRA_WAYS_H
#define TPSP_ALGEBRA_WAYS_H

#include "tpsp/Algebra/ComputePlacement.h"

namespace tpsp {

/// An operation as one axis sees it. The mesh has that axis alone, and tensors
/// are as large as the other axes leave them on a rank.
class AxisView {
public:
  AxisView(const PlacedOperation &operation, AxisId axis);

  /// The result is valid as long as this object.
  PlacedOperation get() const { return {structure, operands, wanted, mesh}; }

private:
  IndexStructure structure;
  llvm::SmallVector<Placement, 3> operands;
  llvm::SmallVector<std::optional<Placement>, 1> wanted;
  Mesh mesh;
};

struct Way {
  /// The axis's task.
  Drive drive;
  /// Bytes that a rank sends.
  int64_t bytes = 0;
};

/// The legal choices of `axis` in the operation, with prices, in the order of
/// `candidates`.
llvm::SmallVector<Way, 4> waysAlong(const PlacedOperation &operation,
                                    AxisId axis);

/// The way that chooseComputePlacement takes; nullopt if none is legal.
std::optional<Way> chosenWay(const PlacedOperation &operation, AxisId axis);

} // namespace tpsp

#endif // TPSP_ALGEBRA_WAYS_H
