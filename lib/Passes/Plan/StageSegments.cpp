#include "StageSegments.h"

#include "LastMicroBatch.h"
#include "Passes/Program/Placed.h"
#include "StageLevels.h"
#include "tpsp/Abi/Plan.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/Operations/CollectiveOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mlir;
using namespace tpsp;

namespace {

/// The place of a segment in the order of segments.
struct Place {
  enum Zone { Prologue, Count, Counted, Forward, Backward, Update };
  /// The steps within a chunk, or within a level of the update.
  enum Step { Copy, SendSum, Receive, Compute, Send, Rest, Last };

  Zone zone = Prologue;
  /// The place of a chunk in its pass, or a level.
  int64_t number = 0;
  Step step = Compute;
  /// The stages, or the other side: they tell segments of one place apart.
  std::vector<int64_t> rest;

  auto key() const { return std::tie(zone, number, step, rest); }
  bool operator<(const Place &other) const { return key() < other.key(); }
};

SegmentWork workOf(const Place &place) {
  switch (place.step) {
  case Place::SendSum:
  case Place::Send:
    return SegmentWork::Send;
  case Place::Receive:
    return SegmentWork::Receive;
  case Place::Rest:
    return SegmentWork::Weights;
  default:
    break;
  }
  switch (place.zone) {
  case Place::Prologue:
  case Place::Count:
  case Place::Counted:
    return SegmentWork::Prologue;
  case Place::Forward:
    return SegmentWork::Forward;
  case Place::Backward:
    return SegmentWork::Backward;
  case Place::Update:
    return SegmentWork::Update;
  }
  return SegmentWork::Update;
}

std::string nameOf(const PlanSegment &segment, const Place &place) {
  std::string name = tpsp::nameOf(segment.work);
  if (place.step == Place::Last)
    name = "last " + name;
  if (segment.chunk >= 0)
    return name + " " +
           (segment.isTransfer()
                ? std::string(place.zone == Place::Forward ? "forward "
                                                           : "backward ")
                : "") +
           std::to_string(segment.chunk);
  return name;
}

/// A segment, and the operations that it has.
struct Formed {
  PlanSegment segment;
  SmallVector<Operation *> ops;
};

class StageSegmenter {
public:
  StageSegmenter(func::FuncOp function, ChunkPlacement placement,
                 const SegmentForm &form, SumMemory &memory)
      : function(function), body(function.getBody().front()), steps(body),
        marks(body, placement), levels(body, marks),
        splitsWeights(form.splitsWeights), memory(memory),
        b(function.getContext()) {
    auto microBatches =
        function->getAttrOfType<IntegerAttr>(microBatchesAttrName);
    if (form.splitsLast && microBatches.getInt() > 1)
      reductions = chunkReductions(body, marks, levels,
                                   splitsWeights ? ReducingChunks::Each
                                                 : ReducingChunks::First);
  }

  LogicalResult run() {
    findNeeded();
    for (Operation &op :
         llvm::make_early_inc_range(body.without_terminator())) {
      connect(&op);
      add(placeOf(&op), &op, marks.stagesOf(&op));
    }
    for (int64_t chunk = 0; chunk < marks.numChunks(); ++chunk)
      splitLast(chunk);
    return order();
  }

private:
  //===--------------------------------------------------------------------===//
  // Places
  //===--------------------------------------------------------------------===//

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
    if (levels.isAfter(op))
      return Place::Update;
    StepSegment step = steps.of(op);
    return step == StepSegment::Count     ? Place::Count
           : step == StepSegment::Counted ? Place::Counted
                                          : Place::Prologue;
  }

  Place placeOf(Operation *op) const {
    int64_t chunk = marks.chunkOf(op);
    if (auto reduced = reductions.find(op); reduced != reductions.end())
      return {Place::Backward, backwards(reduced->second), Place::Last, {}};
    if (chunk < 0)
      return {zoneOf(op), levels.of(op), Place::Compute,
              listOf(marks.stagesOf(op))};
    if (!isBackward(op))
      return {Place::Forward, chunk, Place::Compute, {}};
    bool isRest = splitsWeights && !needed.contains(op);
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
    add({place.zone, place.number, Place::Copy, listOf(stages)}, copy, stages);
    return copy.getResult();
  }

  static void copyMarks(Operation *from, Operation *to) {
    Origin origin = originOf(from);
    setOrigin(to, {.phase = origin.phase, .part = origin.part});
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
    bool isOnce = marks.chunkOf(reader) < 0;
    copyMarks(isOnce ? reader : maker, send);
    copyMarks(reader, receive);
    // Sums over micro-batches are sent when all of these have ended.
    if (isOnce && marks.chunkOf(maker) >= 0)
      sent = {at.zone, at.number, Place::SendSum, {}};
    else
      sent.step = Place::Send;
    sent.rest = {from, to, int64_t(at.zone), at.number};
    Place received{at.zone,
                   at.number,
                   Place::Receive,
                   {from, to, int64_t(sent.zone), sent.number}};
    peers[sent] = received;
    peers[received] = sent;
    add(sent, send, stageSet(from));
    add(received, receive, stageSet(to));
    return receive.getResult();
  }

  StageSet stageSet(int64_t stage) const {
    StageSet set(marks.numStages());
    set.set(stage);
    return set;
  }

  //===--------------------------------------------------------------------===//
  // Segments
  //===--------------------------------------------------------------------===//

  void add(const Place &place, Operation *op, const StageSet &stages) {
    Formed &formed = segments[place];
    formed.ops.push_back(op);
    placeOfOp[op] = place;
    PlanSegment &segment = formed.segment;
    segment.stages = listOf(stages);
    segment.work = workOf(place);
    bool hasChunk =
        place.zone == Place::Forward || place.zone == Place::Backward;
    if (hasChunk || place.zone == Place::Count)
      segment.runs = SegmentRuns::Each;
    if (!hasChunk)
      return;
    segment.chunk =
        place.zone == Place::Forward ? place.number : backwards(place.number);
  }

  /// Copies a chunk's last work for the last micro-batch into the segment that
  /// reduces the chunk's gradients.
  void splitLast(int64_t chunk) {
    auto last =
        segments.find({Place::Backward, backwards(chunk), Place::Last, {}});
    if (last == segments.end())
      return;
    auto others =
        segments.find({Place::Backward, backwards(chunk), Place::Rest, {}});
    if (others == segments.end())
      others = segments.find(
          {Place::Backward, backwards(chunk), Place::Compute, {}});
    Formed &own = last->second, &each = others->second;
    own.segment = each.segment;
    own.segment.runs = SegmentRuns::Last;
    each.segment.runs = SegmentRuns::AllButLast;
    auto isForEach = [&](Operation *op) {
      return segments.at(placeOfOp.at(op)).segment.isOfMicroBatch() &&
             placeOfOp.at(op).step != Place::Last;
    };
    SmallVector<Operation *> copies = copyForLast(each.ops, memory, isForEach);
    for (Operation *copy : copies)
      placeOfOp[copy] = last->first;
    own.ops.insert(own.ops.begin(), copies.begin(), copies.end());
  }

  /// Orders the operations by segments, and notes these.
  LogicalResult order() {
    std::map<Place, int64_t> numbers;
    for (auto &[place, formed] : segments)
      numbers.try_emplace(place, int64_t(numbers.size()));
    SmallVector<Attribute> notes;
    for (auto &[place, formed] : segments) {
      auto peer = peers.find(place);
      if (peer != peers.end())
        formed.segment.peer = numbers.at(peer->second);
      formed.segment.name = nameOf(formed.segment, place);
      notes.push_back(noteOf(formed.segment, b.getContext()));
      for (Operation *op : formed.ops) {
        op->moveBefore(body.getTerminator());
        changeOrigin(op, [&, place = place](Origin &origin) {
          origin.segment = numbers.at(place);
        });
      }
    }
    function->setAttr(segmentsAttrName, b.getArrayAttr(notes));
    return check();
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
  const StageLevels levels;
  const bool splitsWeights;
  SumMemory &memory;
  OpBuilder b;
  llvm::DenseSet<Operation *> needed;
  /// The value that a reader has in place of one that another stage makes.
  std::map<ReaderKey, Value> handed;
  std::map<Place, Formed> segments;
  llvm::DenseMap<Operation *, Place> placeOfOp;
  /// The operations that reduce a chunk's gradients, with the chunk's number.
  llvm::DenseMap<Operation *, int64_t> reductions;
  std::map<Place, Place> peers;
  int64_t transfers = 0;
};

} // namespace

Attribute tpsp::noteOf(const PlanSegment &segment, MLIRContext *context) {
  Builder b(context);
  return b.getDictionaryAttr(
      {b.getNamedAttr("name", b.getStringAttr(segment.name)),
       b.getNamedAttr("work", b.getStringAttr(nameOf(segment.work))),
       b.getNamedAttr("runs", b.getStringAttr(nameOf(segment.runs))),
       b.getNamedAttr("chunk", b.getI64IntegerAttr(segment.chunk)),
       b.getNamedAttr("peer", b.getI64IntegerAttr(segment.peer)),
       b.getNamedAttr("stages", b.getDenseI64ArrayAttr(segment.stages))});
}

LogicalResult tpsp::formStageSegments(func::FuncOp function,
                                      ChunkPlacement placement,
                                      const SegmentForm &form,
                                      SumMemory &memory) {
  return StageSegmenter(function, placement, form, memory).run();
}
