/// What a thread of a spread kernel reads, computes and stores at points of a
/// loop.
#ifndef TPSP_PASSES_DEVICE_SPREADELEMENTS_H
#define TPSP_PASSES_DEVICE_SPREADELEMENTS_H

#include "BlockMemory.h"
#include "IndexMath.h"

#include "mlir/IR/IRMapping.h"

namespace tpsp {

/// Where a loop reads or writes: the buffer, behind some leading indices.
struct Place {
  mlir::Value buffer;
  llvm::SmallVector<mlir::Value> leading;
  /// Where every thread has only its own elements of a row: the extents of the
  /// whole row, and how many neighbours a thread has at a time.
  llvm::SmallVector<int64_t> whole;
  int64_t width = 1;
};

/// By the memref.alloca of a kept row.
using RowPlaces = llvm::DenseMap<mlir::Operation *, Place>;

/// The thread and the item that it works on.
struct ThreadItem {
  /// The thread's number among those of its item, and the item's in the block.
  mlir::Value lane, itemOfBlock;
  /// Whether there is such an item; null: always, as where a block has one.
  mlir::Value isItem;
  /// Elements of the block's part of a range.
  mlir::Value rangeCount;
};

/// By dimension of the nest.
using Point = llvm::SmallVector<mlir::Value>;

/// Where an element is accessed.
struct ElementAccess {
  const Point &point;
  /// The first of `width` accesses to neighbours along this dimension.
  unsigned along = 0;
  int64_t width = 1;
};

/// Neighbouring points that a thread does at once.
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
  /// `map` has what stands for the values of the kernel's function.
  SpreadElements(mlir::OpBuilder &b, mlir::Location loc,
                 const BlockShape &shape, const mlir::IRMapping &map,
                 const RowPlaces &rows)
      : IndexMath(b, loc), shape(shape), map(map), rows(rows) {}

  /// From now on all threads of an item know what is in `memory`.
  void know(mlir::Value memory, mlir::Value value) { known[memory] = value; }

  /// What the loop's nest reads at each of the points.
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> load(const ItemLoop &loop,
                                                         const Neighbours &at);

  /// What the nest's body yields at a point, from the sums so far.
  llvm::SmallVector<mlir::Value> compute(const ItemLoop &loop,
                                         const Point &point,
                                         llvm::ArrayRef<mlir::Value> elements,
                                         mlir::ValueRange sums);

  void store(const ItemLoop &loop, unsigned number, mlir::Value value,
             ElementAccess at);
  /// What is stored at every point.
  void store(const ItemLoop &loop, const Neighbours &at,
             llvm::ArrayRef<llvm::SmallVector<mlir::Value>> results);

  /// All three; returns the sums.
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
