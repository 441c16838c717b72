// tpsp-keep-masks: store dropout masks instead of drawing them again.
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Program/SourceName.h"

#include "tpsp/Dialect/Tpsp/DropoutOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace tpsp {
#define GEN_PASS_DEF_KEEPMASKS
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

void keepMask(DropoutOp op) {
  OpBuilder b(op);
  RankedTensorType type = op.getResult().getType();
  auto maskType =
      RankedTensorType::get(type.getShape(), b.getI8Type(), type.getEncoding());
  // The source's name is the result's, not the mask's.
  Value mask = DropoutMaskOp::create(
      b, withoutSourceName(op.getLoc()), maskType, ValueRange{},
      op.getRateAttr(), op.getSeedAttr(), op.getAlongAttr(), op.getPartAttr());
  double scale = 1.0 / (1.0 - op.getRate().convertToDouble());
  auto applied = ApplyMaskOp::create(b, op.getLoc(), type,
                                     ValueRange{op.getOperand(0), mask},
                                     b.getF64FloatAttr(scale));
  applied->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  mask.getDefiningOp()->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op->replaceAllUsesWith(applied);
  op->erase();
}

struct KeepMasks : public tpsp::impl::KeepMasksBase<KeepMasks> {
  using Base::Base;
  void runOnOperation() override {
    getOperation()->walk([](DropoutOp op) { keepMask(op); });
  }
};

} // namespace
