#include "StageSegments.h"

#include "ChunkReductions.h"
#include "Passes/Program/Placed.h"
#include "Passes/Program/StageMarks.h"
#include "SegmentTable.h"
#include "tpsp/Abi/Plan.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/Operations/CollectiveOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mlir;
using namespace tpsp;

namespace {

using Place = SegmentPlace;

/// The levels of operations in the prologue and in the update. Operations of
/// one level and of the same stages form a segment.
class StageLevels {
public:
  StageLevels(Block &body, const StageMarks &marks,
              const ChunkReductions &reductions)
      : body(body), marks(marks), reductions(reductions) {
    findLevels();
    raiseLevels();
  }

  /// Whether an operation runs after the micro-batches: it belongs to the
  /// update, or reads a value that only their end makes known.
  bool isUpdate(Operation *op) const { return levels.contains(op); }

  /// The level of an operation of the prologue or the update: operations of one
  /// level and of the same stages form a segment.
  int64_t of(Operation *op) const {
    auto early = earlyLevels.find(op);
    return early != earlyLevels.end() ? early->second : levels.lookup(op);
  }

private:
  /// Whether an operation belongs to a pass of a chunk.
  bool isOfChunk(Operation *op) const {
    return marks.chunkOf(op) >= 0 || reductions.chunkOf(op) >= 0;
  }

  void findLevels() {
    for (Operation &op : body.without_terminator()) {
      if (isOfChunk(&op))
        continue;
      bool follows = op.hasAttr(updateAttrName) ||
                     llvm::any_of(op.getOperands(), [&](Value operand) {
                       Operation *maker = operand.getDefiningOp();
                       return maker && (isOfChunk(maker) || isUpdate(maker));
                     });
      (follows ? levels : earlyLevels)[&op] = levelAfter(&op, follows);
    }
  }

  int64_t levelAfter(Operation *op, bool isOfUpdate) const {
    int64_t level = 0;
    for (Value operand : op->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!maker || isOfChunk(maker) || isUpdate(maker) != isOfUpdate)
        continue;
      bool isAlike = marks.stagesOf(maker) == marks.stagesOf(op);
      level = std::max(level, of(maker) + (isAlike ? 0 : 1));
    }
    return level;
  }

  /// Moves operations to the level of their readers, so that a parameter's
  /// update stays in one segment.
  void raiseLevels() {
    for (Operation &op : llvm::reverse(body.without_terminator())) {
      auto level = levels.find(&op);
      if (level == levels.end())
        continue;
      std::optional<int64_t> most;
      for (Operation *user : op.getUsers()) {
        auto later = levels.find(user);
        if (later == levels.end())
          continue;
        bool isAlike = marks.stagesOf(user) == marks.stagesOf(&op);
        int64_t bound = later->second - (isAlike ? 0 : 1);
        most = std::min(most.value_or(bound), bound);
      }
      level->second = std::max(level->second, most.value_or(level->second));
    }
  }

  Block &body;
  const StageMarks &marks;
  const ChunkReductions &reductions;
  llvm::DenseMap<Operation *, int64_t> levels, earlyLevels;
};

class StageSegmenter {
public:
  StageSegmenter(func::FuncOp function, int64_t stages, const SegmentForm &form,
                 SumMemory &memory)
      : function(function), body(function.getBody().front()), steps(body),
        marks(body, stages),
        reductions(form.splitsLast ? ChunkReductions(body, marks)
                                   : ChunkReductions()),
        levels(body, marks, reductions), form(form), memory(memory),
        b(function.getContext()), segments(marks.numChunks()) {}

  LogicalResult run() {
    findNeeded();
    for (Operation &op :
         llvm::make_early_inc_range(body.without_terminator())) {
      connect(&op);
      segments.add(placeOf(&op), &op, listOf(marks.stagesOf(&op)));
    }
    if (hasSeveralParts())
      for (int64_t chunk = 0; chunk < marks.numChunks(); ++chunk)
        if (reductions.has(chunk))
          segments.splitLast(backwards(chunk), memory);
    segments.order(function);
    return check();
  }

private:
  //===--------------------------------------------------------------------===//
  // Places
  //===--------------------------------------------------------------------===//

  static bool isBackward(Operation *op) {
    return op->hasAttr(backwardAttrName);
  }

  /// Finds the operations of the backward pass that a sent gradient needs.
  void findNeeded() {
    for (Operation &op : llvm::reverse(body.without_terminator())) {
      int64_t chunk = marks.chunkOf(&op);
      if (chunk < 0 || !isBackward(&op))
        continue;
      if (llvm::any_of(op.getUsers(), [&](Operation *user) {
            int64_t reader = marks.chunkOf(user);
            return reader >= 0 && (reader != chunk || needed.contains(user));
          }))
        needed.insert(&op);
    }
  }

  /// The number of a chunk's place in the backward pass.
  int64_t backwards(int64_t chunk) const {
    return marks.numChunks() - 1 - chunk;
  }

  /// The zone of an operation that belongs to no chunk.
  Place::Zone zoneOf(Operation *op) const {
    if (levels.isUpdate(op))
      return Place::Update;
    StepSegment step = steps.of(op);
    return step == StepSegment::Count     ? Place::Count
           : step == StepSegment::Counted ? Place::Counted
                                          : Place::Prologue;
  }

  bool hasSeveralParts() const {
    auto parts = function->getAttrOfType<IntegerAttr>(microBatchesAttrName);
    return parts.getInt() > 1;
  }

  /// The place of the reductions of a chunk.
  Place placeOfReductions(int64_t chunk) const {
    using Step = Place::Step;
    Step step = form.splitsWeights
                    ? (hasSeveralParts() ? Step::LastRest : Step::Rest)
                    : (hasSeveralParts() ? Step::LastCompute : Step::Compute);
    return {Place::Backward, backwards(chunk), step, {}};
  }

  Place placeOf(Operation *op) const {
    if (int64_t reduced = reductions.chunkOf(op); reduced >= 0)
      return placeOfReductions(reduced);
    int64_t chunk = marks.chunkOf(op);
    if (chunk < 0)
      return {zoneOf(op), levels.of(op), Place::Compute,
              listOf(marks.stagesOf(op))};
    if (!isBackward(op))
      return {Place::Forward, chunk, Place::Compute, {}};
    bool isRest = form.splitsWeights && !needed.contains(op);
    return {Place::Backward,
            backwards(chunk),
            isRest ? Place::Rest : Place::Compute,
            {}};
  }

  //===--------------------------------------------------------------------===//
  // Transfers
  //===--------------------------------------------------------------------===//

  /// Lets every stage that runs `op` have its operands.
  void connect(Operation *op) {
    StageSet wanted = marks.stagesOf(op);
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *maker = operand.get().getDefiningOp();
      if (!maker)
        continue;
      StageSet has = marks.stagesOf(maker), missing = wanted;
      missing.reset(has);
      if (missing.none())
        continue;
      Value &there =
          handed[{operand.get().getAsOpaquePointer(), readerKey(op, wanted)}];
      if (!there)
        there = hand(operand.get(), op, has, missing);
      operand.set(there);
    }
  }

  /// A value, and its readers that share it once it is handed to them.
  using ReaderKey = std::pair<const void *, std::vector<int64_t>>;

  std::vector<int64_t> readerKey(Operation *op, const StageSet &wanted) const {
    if (int64_t chunk = marks.chunkOf(op); chunk >= 0)
      return {0, chunk};
    std::vector<int64_t> key = listOf(wanted);
    key.insert(key.begin(), {1, levels.of(op)});
    return key;
  }

  /// Sends a value from the first stage that has it to those that lack it.
  /// Returns the value as all stages of the reader have it.
  Value hand(Value value, Operation *reader, const StageSet &has,
             const StageSet &missing) {
    int64_t from = has.find_first();
    StageSet both = marks.stagesOf(reader);
    both &= has;
    Value kept = both.any() ? copyOf(value, reader, both) : Value();
    Value last = value;
    for (unsigned to : missing.set_bits()) {
      last = transfer(value, reader, from, to);
      if (kept)
        memory[last] = kept;
      else
        kept = last;
    }
    return last;
  }

  /// A copy in memory that stages have in common.
  Value copyOf(Value value, Operation *reader, const StageSet &stages) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(reader);
    auto copy = ScaleOp::create(b, value.getLoc(), value.getType(),
                                ValueRange{value}, b.getF64FloatAttr(1));
    copyMarks(reader, copy);
    Place place = placeOf(reader);
    segments.add({place.zone, place.number, Place::Copy, listOf(stages)}, copy,
                 listOf(stages));
    return copy.getResult();
  }

  static void copyMarks(Operation *from, Operation *to) {
    for (StringRef name : {backwardAttrName, updateAttrName, partAttrName})
      if (Attribute mark = from->getAttr(name))
        to->setAttr(name, mark);
  }

  Value transfer(Value value, Operation *reader, int64_t from, int64_t to) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(reader);
    Operation *maker = value.getDefiningOp();
    int64_t number = transfers++;
    auto send = SendOp::create(b, value.getLoc(), value, from, to, number,
                               b.getStringAttr(tensorName(value)));
    auto receive = ReceiveOp::create(b, value.getLoc(), value.getType(), value,
                                     from, to, number);
    Place at = placeOf(reader), sent = placeOf(maker);
    bool isOnce = !at.isOfChunk();
    copyMarks(isOnce ? reader : maker, send);
    copyMarks(reader, receive);
    // Sums over micro-batches are sent when all of these have ended.
    if (isOnce && sent.isOfChunk())
      sent = {at.zone, at.number, Place::SendSum, {}};
    else
      sent.step = Place::Send;
    sent.rest = {from, to, int64_t(at.zone), at.number};
    Place received{at.zone,
                   at.number,
                   Place::Receive,
                   {from, to, int64_t(sent.zone), sent.number}};
    segments.pair(sent, received);
    segments.add(sent, send, {from});
    segments.add(received, receive, {int64_t(to)});
    return receive.getResult();
  }

  LogicalResult check() const {
    for (Operation &op : body.without_terminator())
      for (Value operand : op.getOperands())
        if (Operation *maker = operand.getDefiningOp();
            maker && segmentOf(maker) > segmentOf(&op))
          return op.emitOpError("reads a value that a later layer, or a later "
                                "stage, makes: stages cannot divide these "
                                "layers; run them with one stage (--mesh)");
    return success();
  }

  func::FuncOp function;
  Block &body;
  const SegmentsOfStep steps;
  const StageMarks marks;
  const ChunkReductions reductions;
  const StageLevels levels;
  const SegmentForm form;
  SumMemory &memory;
  OpBuilder b;
  llvm::DenseSet<Operation *> needed;
  /// The value that a reader has in place of one that another stage makes.
  std::map<ReaderKey, Value> handed;
  SegmentTable segments;
  int64_t transfers = 0;
};

} // namespace

LogicalResult tpsp::formStageSegments(func::FuncOp function, int64_t stages,
                                      const SegmentForm &form,
                                      SumMemory &memory) {
  return StageSegmenter(function, stages, form, memory).run();
}
