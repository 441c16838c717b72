/// The segments of a step with stages while they are formed: which operations
/// each has, and in which order they are.
#ifndef TPSP_PASSES_PLAN_SEGMENTTABLE_H
#define TPSP_PASSES_PLAN_SEGMENTTABLE_H

#include "StepSegments.h"

#include "tpsp/Abi/Plan.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <tuple>

namespace tpsp {

/// The place of a segment in the order of segments.
struct SegmentPlace {
  enum Zone { Prologue, Count, Counted, Forward, Backward, Update };
  /// The steps within a chunk, or within a level of the update.
  /// The last micro-batch may have a Compute and a Rest of its own.
  enum Step {
    Copy,
    SendSum,
    Receive,
    Compute,
    LastCompute,
    Send,
    Rest,
    LastRest
  };

  Zone zone = Prologue;
  /// The place of a chunk in its pass, or a level.
  int64_t number = 0;
  Step step = Compute;
  /// The stages, or the other side: they tell segments of one place apart.
  std::vector<int64_t> rest;

  auto key() const { return std::tie(zone, number, step, rest); }
  bool operator<(const SegmentPlace &other) const {
    return key() < other.key();
  }

  /// Whether it belongs to the forward or backward pass of micro-batches.
  bool isOfChunk() const { return zone == Forward || zone == Backward; }
  bool isLast() const { return step == LastCompute || step == LastRest; }
};

class SegmentTable {
public:
  explicit SegmentTable(int64_t chunks) : chunks(chunks) {}

  /// Adds an operation to the segment at a place, after its others.
  void add(const SegmentPlace &place, mlir::Operation *op,
           std::vector<int64_t> stages);
  /// The two sides of a transfer.
  void pair(const SegmentPlace &send, const SegmentPlace &receive);
  /// Gives the last micro-batch backward segments of its own, to which the
  /// reductions of the chunk belong already. `number`: the chunk's place in the
  /// backward pass.
  void splitLast(int64_t number, SumMemory &memory);
  /// Orders the function's operations by segments, and notes these.
  void order(mlir::func::FuncOp function);

private:
  /// A segment, and the operations that it has.
  struct Formed {
    PlanSegment segment;
    llvm::SmallVector<mlir::Operation *> ops;
  };

  const int64_t chunks;
  std::map<SegmentPlace, Formed> segments;
  llvm::DenseMap<mlir::Operation *, SegmentPlace> places;
  std::map<SegmentPlace, SegmentPlace> peers;
};

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_SEGMENTTABLE_H
