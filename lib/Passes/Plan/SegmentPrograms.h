/// The segments of a program, each as a program of its own on several streams.
#ifndef TPSP_PASSES_PLAN_SEGMENTPROGRAMS_H
#define TPSP_PASSES_PLAN_SEGMENTPROGRAMS_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Dialect/Plan/PlanDialect.h"

#include <set>

namespace tpsp {

/// Takes a program apart by segments, and puts it together again. The time is
/// linear in the commands.
///
///     SegmentPrograms parts(program, plan);
///     for (plan::ProgramOp part : parts.programs())
///       ... // change the order, streams and events of its commands
///     parts.join();
///
/// With stages, streams of segments follow those of transfers. The segments
/// still follow each other. At the end of a segment stream 0 waits
/// for all other streams, and at its beginning these wait for stream 0.
class SegmentPrograms {
public:
  /// `program` has micro-batches, and all its commands but transfers between
  /// stages are on stream 0.
  SegmentPrograms(plan::ProgramOp program, const Plan &plan);

  /// One program for each segment, in the order of Plan::segments, after the
  /// whole program. Each has the buffers that its commands access, and no
  /// segments.
  llvm::ArrayRef<plan::ProgramOp> programs() const { return parts; }
  /// Takes another program in place of a part, which may have been erased.
  void replace(size_t number, plan::ProgramOp part) { parts[number] = part; }

  /// Moves the commands of the parts into the program, and erases the parts.
  void join();

private:
  void findUsers(const Plan &plan);
  void mark(plan::BufferOp buffer, int64_t segment);
  plan::ProgramOp makePart(llvm::ArrayRef<mlir::Operation *> commands,
                           int64_t segment);
  void add(plan::ProgramOp part, int64_t number);

  plan::ProgramOp whole;
  const std::vector<PlanSegment> segments;
  llvm::SmallVector<plan::ProgramOp> parts;
  llvm::SmallVector<plan::BufferOp> buffers;
  /// For each buffer of the whole program, the segments that use it.
  std::vector<std::set<int64_t>> users;
  int64_t streams, events = 0, wholes = 0;
};

/// Whether other segments use the buffer of a part, too. They need all of it.
bool isShared(plan::BufferOp buffer);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_SEGMENTPROGRAMS_H
