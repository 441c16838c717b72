/// Gives new operations the origin of the operation that they are made for.
#ifndef TPSP_PASSES_PROGRAM_ORIGINLISTENER_H
#define TPSP_PASSES_PROGRAM_ORIGINLISTENER_H

#include "SourceName.h"
#include "tpsp/Dialect/Tpsp/IR/Origin.h"

#include "mlir/IR/Builders.h"

namespace tpsp {

class OriginListener : public mlir::OpBuilder::Listener {
public:
  /// The operations built from now on are for `op`.
  void follow(mlir::Operation *op) { origin = originOf(op); }

  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint) override {
    setOrigin(op, origin);
    op->setLoc(locationFor(op));
  }

  /// The origin of new operations.
  Origin origin;

protected:
  /// The location that a new operation gets: its own, without a name, because
  /// the name in the source belongs to the operation that is followed.
  virtual mlir::Location locationFor(mlir::Operation *op) {
    return withoutSourceName(op->getLoc());
  }
};

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_ORIGINLISTENER_H
