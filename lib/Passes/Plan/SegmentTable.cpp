#include "SegmentTable.h"

#include "LastMicroBatch.h"
#include "StageSegments.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;
using Place = SegmentPlace;

static SegmentWork workOf(const Place &place) {
  switch (place.step) {
  case Place::SendSum:
  case Place::Send:
    return SegmentWork::Send;
  case Place::Receive:
    return SegmentWork::Receive;
  case Place::Rest:
  case Place::LastRest:
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

void SegmentTable::add(const Place &place, Operation *op,
                       std::vector<int64_t> stages) {
  Formed &formed = segments[place];
  formed.ops.push_back(op);
  places[op] = place;
  PlanSegment &segment = formed.segment;
  segment.stages = std::move(stages);
  segment.work = workOf(place);
  if (place.isLast())
    segment.runs = SegmentRuns::Last;
  else if (place.isOfChunk() || place.zone == Place::Count)
    segment.runs = SegmentRuns::Each;
  if (place.isOfChunk())
    segment.chunk =
        place.zone == Place::Forward ? place.number : chunks - 1 - place.number;
}

void SegmentTable::pair(const Place &send, const Place &receive) {
  peers[send] = receive;
  peers[receive] = send;
}

void SegmentTable::splitLast(int64_t number, SumMemory &memory) {
  SmallVector<Operation *> ops;
  for (Place::Step step : {Place::Compute, Place::Rest}) {
    auto found = segments.find({Place::Backward, number, step, {}});
    if (found == segments.end())
      continue;
    found->second.segment.runs = SegmentRuns::AllButLast;
    llvm::append_range(ops, found->second.ops);
  }
  auto isOfEach = [&](Operation *op) {
    auto place = places.find(op);
    return place != places.end() && place->second.isOfChunk() &&
           !place->second.isLast();
  };
  SmallVector<Operation *> copies =
      copyForLastMicroBatch(ops, memory, isOfEach);
  // They precede the reductions, which read their sums.
  std::map<Place, SmallVector<Operation *>> added;
  for (auto [op, copy] : llvm::zip_equal(ops, copies)) {
    Place place = places.at(op);
    place.step =
        place.step == Place::Rest ? Place::LastRest : Place::LastCompute;
    added[place].push_back(copy);
  }
  const std::vector<int64_t> stages =
      segments.at(places.at(ops.front())).segment.stages;
  for (auto &[place, own] : added) {
    SmallVector<Operation *> reduced;
    std::swap(reduced, segments[place].ops);
    for (Operation *op : llvm::concat<Operation *>(own, reduced))
      add(place, op, stages);
  }
}

static std::string segmentName(const PlanSegment &segment, const Place &place) {
  std::string name =
      (place.isLast() ? "last " : "") + std::string(tpsp::nameOf(segment.work));
  if (segment.chunk >= 0)
    return name + " " +
           (segment.isTransfer()
                ? std::string(place.zone == Place::Forward ? "forward "
                                                           : "backward ")
                : "") +
           std::to_string(segment.chunk);
  return name;
}

void SegmentTable::order(func::FuncOp function) {
  Block &body = function.getBody().front();
  Builder b(function.getContext());
  std::map<Place, int64_t> numbers;
  for (auto &[place, formed] : segments)
    numbers.try_emplace(place, int64_t(numbers.size()));
  SmallVector<Attribute> notes;
  for (auto &[place, formed] : segments) {
    auto peer = peers.find(place);
    if (peer != peers.end())
      formed.segment.peer = numbers.at(peer->second);
    formed.segment.name = segmentName(formed.segment, place);
    notes.push_back(noteOf(formed.segment, b.getContext()));
    for (Operation *op : formed.ops) {
      op->moveBefore(body.getTerminator());
      op->setAttr(segmentAttrName, b.getI64IntegerAttr(numbers.at(place)));
    }
  }
  function->setAttr(segmentsAttrName, b.getArrayAttr(notes));
}

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
