/// Warns if the user's placements cost much more than another spelling:
///
/// - work that is repeated on an axis that divides an operand, unless another
///   operation needs the whole operand anyway;
/// - axes that divide one index of an argument in an order in which the uses of
///   the argument send at least twice the bytes of another order.
#ifndef TPSP_PASSES_COLLECTIVES_PLACEMENTWARNINGS_H
#define TPSP_PASSES_COLLECTIVES_PLACEMENTWARNINGS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/MapVector.h"

namespace tpsp {

/// Collects costs from all operations of a function, then warns.
class PlacementWarnings {
public:
  explicit PlacementWarnings(const Mesh &mesh) : mesh(mesh) {}

  /// Must be called before the operands are brought to the placements that
  /// `choice` needs.
  void see(IndexedOpInterface op, const PlacedOperation &placed,
           const ComputePlacement &choice);
  void emit() const;

private:
  /// A value and an axis that divides it and over which it is gathered.
  using Gathered = std::pair<mlir::Value, AxisId>;
  /// One order of the axes of an argument.
  struct Spelling {
    Placement placement;
    int64_t bytes = 0; ///< that the argument's uses send per rank
  };

  void seeGathers(IndexedOpInterface op, const PlacedOperation &placed,
                  const ComputePlacement &choice);
  void seeOrders(IndexedOpInterface op, const PlacedOperation &placed,
                 const ComputePlacement &choice);
  void warnOfOrder(mlir::BlockArgument argument,
                   llvm::ArrayRef<Spelling> spellings) const;

  const Mesh &mesh;
  /// The first operation that repeats work, and the text of its warning.
  llvm::MapVector<Gathered, std::pair<mlir::Operation *, std::string>> repeated;
  llvm::DenseSet<Gathered> neededWhole;
  /// The spelling as written, then those in other orders.
  llvm::MapVector<mlir::BlockArgument, llvm::SmallVector<Spelling, 2>> orders;
};

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_PLACEMENTWARNINGS_H
