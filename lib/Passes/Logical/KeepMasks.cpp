// tpsp-keep-masks: stores dropout masks instead of rematerialising them.
#include "Passes/Program/SourceName.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/IR/BuiltinOps.h"

namespace tpsp {
#define GEN_PASS_DEF_KEEPMASKS
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// Gives new operations the marks and the source location of the operation that
/// they replace, but not its name.
class Inherit : public OpBuilder::Listener {
public:
  explicit Inherit(Operation *from) : from(from) {}
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    op->setDiscardableAttrs(from->getDiscardableAttrDictionary());
    op->setLoc(withoutSourceName(from->getLoc()));
  }

private:
  Operation *from;
};

void keepMask(MaskingOpInterface op) {
  Inherit listener(op);
  OpBuilder b(op->getContext(), &listener);
  b.setInsertionPoint(op);
  Value applied = op.separateMask(b);
  // The source's name belongs to the result, not to the mask.
  applied.getDefiningOp()->setLoc(op->getLoc());
  op->getResult(0).replaceAllUsesWith(applied);
  op->erase();
}

struct KeepMasks : public tpsp::impl::KeepMasksBase<KeepMasks> {
  using Base::Base;
  void runOnOperation() override {
    getOperation()->walk([](MaskingOpInterface op) { keepMask(op); });
  }
};

} // namespace
