/// The commands of a step in the order in which a rank issues them.
#ifndef TPSP_SCHEDULE_ISSUEORDER_H
#define TPSP_SCHEDULE_ISSUEORDER_H

#include "tpsp/Abi/Plan.h"

namespace tpsp {

/// The numbers of the plan's commands in the order of issue, those of repeated
/// segments once for each micro-batch.
std::vector<int64_t> issueOrder(const Plan &plan);

/// A step whose repeated commands are written out for each micro-batch.
struct WrittenOutStep {
  /// It has one segment. A temporary that holds nothing from one micro-batch to
  /// the next is a buffer for each, all in the same place.
  Plan plan;
  /// The numbers of its commands and buffers in the plan that it is made of.
  std::vector<int64_t> commandOf, bufferOf;
};

/// The plan without its commands, with one segment that has none. Buffers of
/// which each micro-batch has a part are whole, of so many micro-batches.
Plan withoutCommands(const Plan &plan, int64_t microBatches);

/// The commands of each segment as a step of its own, with the
/// buffers that they access alone. Transfers are on stream 0. Takes linear time
/// for all of them together. They have no ledger.
std::vector<WrittenOutStep> segmentSteps(const Plan &plan);

/// Writes the step out as if it had `microBatches` micro-batches. A cut buffer
/// then has as many parts.
WrittenOutStep writtenOut(const Plan &plan, int64_t microBatches);

} // namespace tpsp

#endif // TPSP_SCHEDULE_ISSUEORDER_H
