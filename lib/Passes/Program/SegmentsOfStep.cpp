#include "SegmentsOfStep.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

/// The segment of which an operation says that it belongs to it.
static std::optional<StepSegment> markedSegment(Operation *op) {
  if (auto part = op->getAttrOfType<IntegerAttr>(partAttrName))
    return part.getInt() == countPart ? StepSegment::Count
                                      : StepSegment::MicroBatch;
  if (op->hasAttr(updateAttrName))
    return StepSegment::Update;
  return std::nullopt;
}

SegmentsOfStep::SegmentsOfStep(Block &body) {
  if (!body.getParentOp()->hasAttr(microBatchesAttrName))
    return;
  for (Operation &op : body) {
    // Others follow what makes their operands.
    StepSegment segment = StepSegment::Prologue;
    for (Value operand : op.getOperands()) {
      StepSegment before = of(operand.getDefiningOp());
      segment = std::max(
          segment, isRepeated(before) ? StepSegment(int(before) + 1) : before);
    }
    segment = markedSegment(&op).value_or(segment);
    if (segment != StepSegment::Prologue)
      later[&op] = segment;
    counts |= segment == StepSegment::Count;
  }
  // Views and other operations that passes add may lack the mark. They belong
  // to the micro-batch that reads them.
  for (Operation &op : llvm::reverse(body)) {
    StepSegment segment = of(&op);
    if (markedSegment(&op) || segment == StepSegment::Prologue)
      continue;
    auto before = StepSegment(int(segment) - 1);
    if (llvm::any_of(op.getUsers(),
                     [&](Operation *user) { return of(user) == before; }))
      later[&op] = before;
  }
}
