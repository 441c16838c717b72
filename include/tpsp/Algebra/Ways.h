/// What a single mesh axis may do in an operation, and what each choice costs.
/// Messages list these ways out of an illegal or an ambiguous program.
///
/// A price is of one axis alone. In y[b, s, e] = W[e@a, d] x[b@a, s, d], with
/// tp dividing s besides, the axis a may drive
///
///   e   x is gathered along b       bytes of x, as tp leaves it on a rank
///   b   W is gathered along e       bytes of W
///   -   both are gathered           bytes of both
///
/// An unplaced result is priced as complete: if it comes out as a pending sum,
/// the all-reduce is paid for.
#ifndef TPSP_ALGEBRA_WAYS_H
#define TPSP_ALGEBRA_WAYS_H

#include "tpsp/Algebra/ComputePlacement.h"

namespace tpsp {

/// An operation as one axis sees it. The mesh has that axis alone, and tensors
/// are as large as the other axes leave them on a rank.
class AxisView {
public:
  AxisView(const PlacedOperation &operation, AxisId axis);

  /// Valid as long as this object.
  PlacedOperation get() const { return {structure, operands, wanted, mesh}; }

private:
  IndexStructure structure;
  llvm::SmallVector<Placement, 3> operands;
  llvm::SmallVector<std::optional<Placement>, 1> wanted;
  Mesh mesh;
};

struct Way {
  /// What the axis does.
  Drive drive;
  /// Sent per rank.
  int64_t bytes = 0;
};

/// What `axis` may do in the operation, with prices, in the order of
/// `candidates`; illegal choices are left out.
llvm::SmallVector<Way, 4> waysAlong(const PlacedOperation &operation,
                                    AxisId axis);

/// The way that the table takes; nullopt if none is legal.
std::optional<Way> chosenWay(const PlacedOperation &operation, AxisId axis);

} // namespace tpsp

#endif // TPSP_ALGEBRA_WAYS_H
