#include "SegmentsOfStep.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

SegmentsOfStep::SegmentsOfStep(Block &body) {
  if (!body.getParentOp()->hasAttr(microBatchesAttrName))
    return;
  for (Operation &op : body) {
    // An operation of no micro-batch follows them if it belongs to the update.
    // So does one that reads a value of theirs, or of another that follows.
    bool isRepeated = op.hasAttr(partAttrName);
    bool follows = op.hasAttr(updateAttrName) ||
                   llvm::any_of(op.getOperands(), [&](Value operand) {
                     return later.contains(operand.getDefiningOp());
                   });
    if (isRepeated || follows)
      later[&op] = isRepeated ? StepSegment::MicroBatch : StepSegment::Update;
  }
  // Views and other operations that passes add may lack the mark. They belong
  // to the micro-batch that reads them.
  for (Operation &op : llvm::reverse(body))
    if (of(&op) == StepSegment::Update && !op.hasAttr(updateAttrName) &&
        llvm::any_of(op.getUsers(), [&](Operation *user) {
          return of(user) == StepSegment::MicroBatch;
        }))
      later[&op] = StepSegment::MicroBatch;
}
