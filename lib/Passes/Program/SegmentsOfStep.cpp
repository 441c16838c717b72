#include "SegmentsOfStep.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

/// The segment of which an operation says that it belongs to it.
static std::optional<StepSegment> markedSegment(Operation *op) {
  if (std::optional<int64_t> part = originOf(op).part)
    return *part == countPart ? StepSegment::Count : StepSegment::MicroBatch;
  if (isUpdate(op))
    return StepSegment::Update;
  return std::nullopt;
}

/// The segment in which a value is known to an operation without a mark.
static StepSegment segmentAfter(Value operand, const SegmentsOfStep &segments) {
  auto function =
      cast<FunctionOpInterface>(operand.getParentBlock()->getParentOp());
  if (auto argument = dyn_cast<BlockArgument>(operand))
    return function.getArgAttr(argument.getArgNumber(), cutAttrName)
               ? StepSegment::MicroBatch
               : StepSegment::Prologue;
  StepSegment made = segments.of(operand.getDefiningOp());
  return isRepeated(made) ? StepSegment(int(made) + 1) : made;
}

SegmentsOfStep::SegmentsOfStep(Block &body) {
  if (!body.getParentOp()->hasAttr(microBatchesAttrName))
    return;
  for (Operation &op : body) {
    // Others follow what makes their operands.
    StepSegment segment = StepSegment::Prologue;
    for (Value operand : op.getOperands())
      segment = std::max(segment, segmentAfter(operand, *this));
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
    for (Operation *user : op.getUsers())
      later[&op] = std::min(of(&op), of(user));
  }
}
