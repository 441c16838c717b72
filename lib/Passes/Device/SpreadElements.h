/// Emits the loads, computation and stores of a thread of a spread kernel at
/// points of a loop.
#ifndef TPSP_PASSES_DEVICE_SPREADELEMENTS_H
#define TPSP_PASSES_DEVICE_SPREADELEMENTS_H

#include "BlockMemory.h"
#include "IndexMath.h"

#include "mlir/IR/IRMapping.h"

namespace tpsp {

/// The memory that a loop accesses: the buffer, indexed by some leading
/// indices.
struct Place {
  mlir::Value buffer;
  llvm::SmallVector<mlir::Value> leading;
  /// The extents of the whole row, if every thread keeps only its own elements
  /// of it. `width` is then the number of neighbours that a thread has at a
  /// time.
  llvm::SmallVector<int64_t> whole;
  int64_t width = 1;
};

/// The place of each kept row, by its memref.alloca.
using RowPlaces = llvm::DenseMap<mlir::Operation *, Place>;

/// The thread and the item that it works on.
struct ThreadItem {
  /// The thread's number among those of its item, and the item's number in the
  /// block.
  mlir::Value lane, itemOfBlock;
  /// Whether the item exists. Null if it always does, as when a block has one
  /// item.
  mlir::Value isItem;
  /// The number of elements in the block's part of a range.
  mlir::Value rangeCount;
};

/// A value for each dimension of the nest.
using Point = llvm::SmallVector<mlir::Value>;

/// The point of an access.
struct ElementAccess {
  const Point &point;
  /// The first of `width` accesses to neighbours along this dimension.
  unsigned along = 0;
  int64_t width = 1;
};

/// Neighbouring points that a thread processes at once.
struct Neighbours {
  llvm::SmallVector<Point> points;
  /// The dimension along which they are neighbours.
  unsigned along = 0;

  ElementAccess at(size_t i) const {
    return {points[i], along, i == 0 ? int64_t(points.size()) : 1};
  }
};

class SpreadElements : public IndexMath {
public:
  /// `map` maps the values of the kernel's function to those of the device
  /// kernel.
  SpreadElements(mlir::OpBuilder &b, mlir::Location loc,
                 const BlockShape &shape, const mlir::IRMapping &map,
                 const RowPlaces &rows)
      : IndexMath(b, loc), shape(shape), map(map), rows(rows) {}

  /// Records that all threads of an item hold the contents of `memory`.
  void know(mlir::Value memory, mlir::Value value) { known[memory] = value; }

  /// Loads the inputs of the loop's nest at each of the points.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> load(const ItemLoop &loop,
                                                         const Neighbours &at);

  /// The values that the nest's body yields at a point, given the sums so far.
  llvm::SmallVector<mlir::Value> compute(const ItemLoop &loop,
                                         const Point &point,
                                         llvm::ArrayRef<mlir::Value> elements,
                                         mlir::ValueRange sums);

  void store(const ItemLoop &loop, unsigned number, mlir::Value value,
             ElementAccess at);
  /// Stores the results at every point.
  void store(const ItemLoop &loop, const Neighbours &at,
             llvm::ArrayRef<llvm::SmallVector<mlir::Value>> results);

  /// Loads, computes and stores; returns the sums.
  llvm::SmallVector<mlir::Value>
  visit(const ItemLoop &loop, const Neighbours &at, mlir::ValueRange sums);

private:
  Place placeOf(mlir::Value memory);
  llvm::SmallVector<mlir::Value>
  indices(const Place &place, mlir::AffineMap access, ElementAccess at);
  mlir::Value load(mlir::OpOperand &operand, mlir::AffineMap access,
                   ElementAccess at);

  const BlockShape &shape;
  const mlir::IRMapping &map;
  const RowPlaces &rows;
  llvm::DenseMap<mlir::Value, mlir::Value> known;
};

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_SPREADELEMENTS_H
