/// Which operations of micro-batches do the same.
///
/// Each micro-batch makes the same values of its part of the batch. Some are
/// added up: each micro-batch but the first adds its own to the sum of those
/// before.
#ifndef TPSP_PASSES_COLLECTIVES_MICROBATCHTWINS_H
#define TPSP_PASSES_COLLECTIVES_MICROBATCHTWINS_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/DenseMap.h"

namespace tpsp {

class MicroBatchTwins {
public:
  /// `ops`: of one phase, in program order. Where micro-batches are not alike,
  /// nothing is another's twin.
  explicit MicroBatchTwins(llvm::ArrayRef<IndexedOpInterface> ops);

  /// How many micro-batches there are that are alike; 1 if there are none.
  int64_t count() const { return numParts; }

  /// The same operation of the last micro-batch; of that and of none, itself.
  mlir::Operation *lastOf(mlir::Operation *op) const;
  /// The value that the last micro-batch has instead.
  mlir::Value lastOf(mlir::Value value) const;

  /// The operand that is the sum of earlier micro-batches, if the operation
  /// adds its own's to that.
  static std::optional<unsigned> sumSoFar(mlir::Operation *op);

  /// Whether the operation is another's twin, or reads what is: all of them do
  /// it, or it does it for all of them.
  bool isOfEach(mlir::Operation *op) const;

private:
  int64_t numParts = 1;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> last;
};

} // namespace tpsp

#endif // TPSP_PASSES_COLLECTIVES_MICROBATCHTWINS_H
