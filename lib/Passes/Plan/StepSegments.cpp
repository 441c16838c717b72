#include "StepSegments.h"

#include "LastMicroBatch.h"
#include "Passes/Program/SegmentsOfStep.h"
#include "Passes/Program/StageMarks.h"
#include "StageSegments.h"

#include "tpsp/Abi/Plan.h"
#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

#include "llvm/ADT/STLExtras.h"

#include <array>

using namespace mlir;
using namespace tpsp;

namespace {

/// Makes `sum`, the addition of its operand to zeros of the prologue.
void addToZeros(OpBuilder &b, AccumulateOp sum, SumMemory &memory) {
  RankedTensorType type = typeOf(sum.getResult());
  OpBuilder::InsertionGuard guard(b);
  Value zeros = ConstantOp::create(b, sum.getLoc(), type, ValueRange{},
                                   b.getF64FloatAttr(0));
  b.setInsertionPoint(sum);
  auto added = AddOp::create(b, sum.getLoc(), type,
                             ValueRange{sum.getOperand(0), zeros});
  added->setAttrs(sum->getAttrs());
  sum.replaceAllUsesWith(added.getResult());
  sum.erase();
  memory[added.getResult()] = zeros;
}

} // namespace

int64_t tpsp::segmentOf(Operation *op) {
  return originOf(op).segment.value_or(0);
}

/// Verifies that no operation reads what a later segment makes.
static LogicalResult checkOrder(Block &body, const SegmentsOfStep &segments) {
  for (Operation &op : body.without_terminator())
    for (Value operand : op.getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!maker)
        continue;
      auto indexed = dyn_cast<IndexedOpInterface>(maker);
      bool isPartOfCount = segments.of(maker) == StepSegment::Count &&
                           segments.of(&op) == StepSegment::MicroBatch &&
                           !(indexed && indexed.isView());
      if (isPartOfCount)
        return op.emitOpError("belongs to a micro-batch, and reads a part of a "
                              "sum that is counted before it");
      if (segments.of(maker) > segments.of(&op))
        return op.emitOpError("belongs to a micro-batch, and reads what is "
                              "known only after the last of them");
    }
  return success();
}

/// Verifies that no operation reads a sum in the segment that makes it, where
/// it has some micro-batches only.
static LogicalResult checkSums(Block &body, const SumMemory &sums,
                               const SegmentsOfStep &segments) {
  for (Operation &op : body.without_terminator())
    for (Value operand : op.getOperands())
      if (sums.contains(operand) &&
          segments.of(&op) <= segments.of(operand.getDefiningOp()))
        return op.emitOpError("reads a sum over micro-batches before the last "
                              "of them has added to it");
  return success();
}

/// The number of a segment in the plan, which has Count and Counted only if
/// there are counts.
static int64_t numberOf(StepSegment segment, bool hasCounts) {
  auto number = int64_t(segment);
  return hasCounts || number == 0 ? number : number - 2;
}

int64_t tpsp::updateSegmentOf(func::FuncOp function) {
  if (auto notes = function->getAttrOfType<ArrayAttr>(segmentsAttrName))
    return int64_t(notes.size()) - 1;
  return numberOf(StepSegment::Update, /*hasCounts=*/false);
}

/// Notes all segments on the function.
static void noteSegments(func::FuncOp function, bool hasCounts,
                         bool splitsLast) {
  SmallVector<PlanSegment, numStepSegments> all = {{"prologue"}};
  if (hasCounts)
    all.append({{"counts", SegmentRuns::Each}, {"counted"}});
  if (splitsLast)
    all.append(
        {{"micro-batch", SegmentRuns::AllButLast, SegmentWork::MicroBatch},
         {"last micro-batch", SegmentRuns::Last, SegmentWork::MicroBatch}});
  else
    all.append({{"micro-batch", SegmentRuns::Each, SegmentWork::MicroBatch},
                {"update", SegmentRuns::Once, SegmentWork::Update}});
  SmallVector<Attribute> notes;
  for (const PlanSegment &segment : all)
    notes.push_back(noteOf(segment, function.getContext()));
  function->setAttr(segmentsAttrName,
                    ArrayAttr::get(function.getContext(), notes));
}

OperandRange tpsp::returnedValues(func::FuncOp function) {
  return function.getBody().front().getTerminator()->getOperands().take_front(
      function.getNumResults());
}

FailureOr<SumMemory> tpsp::formSegments(func::FuncOp function,
                                        const SegmentForm &form) {
  SumMemory memory;
  if (!function->hasAttr(microBatchesAttrName))
    return memory;
  Block &body = function.getBody().front();
  auto b = OpBuilder::atBlockBegin(&body);
  for (auto sum : llvm::to_vector(body.getOps<AccumulateOp>()))
    addToZeros(b, sum, memory);
  SegmentsOfStep segmentsOfStep(body);
  if (failed(checkSums(body, memory, segmentsOfStep)))
    return failure();
  if (hasChunks(function)) {
    int64_t stages = meshOf(function).size(*stageAxisOf(function));
    if (failed(
            formStageSegments(function, {stages, form.isFolded}, form, memory)))
      return failure();
    return memory;
  }
  if (failed(checkOrder(body, segmentsOfStep)))
    return failure();
  std::array<SmallVector<Operation *>, numStepSegments> segments;
  for (Operation &op : body.without_terminator())
    segments[int64_t(segmentsOfStep.of(&op))].push_back(&op);
  bool hasCounts = segmentsOfStep.hasCounts();
  SmallVector<Operation *> &parts = segments[int64_t(StepSegment::MicroBatch)];
  SmallVector<Operation *> &update = segments[int64_t(StepSegment::Update)];
  bool splitsLast = form.splitsLast && !parts.empty();
  if (splitsLast)
    update = llvm::to_vector(
        llvm::concat<Operation *>(copyForLast(parts, memory), update));
  if (hasCounts || splitsLast)
    noteSegments(function, hasCounts, splitsLast);
  for (auto [number, ops] : llvm::enumerate(segments))
    for (Operation *op : ops) {
      op->moveBefore(body.getTerminator());
      if (int64_t segment = numberOf(StepSegment(number), hasCounts))
        changeOrigin(op, [&](Origin &origin) { origin.segment = segment; });
    }
  return memory;
}
