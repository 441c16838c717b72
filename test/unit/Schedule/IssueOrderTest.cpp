// Steps whose commands run once for every micro-batch.
#include "tpsp/Schedule/IssueOrder.h"

#include "tpsp/Abi/MemoryUse.h"
#include "tpsp/Schedule/ScheduleProof.h"

#include <gmock/gmock.h>

using namespace tpsp;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

enum Buffer : int64_t { Input, Sum, Own, Result };

PlanAccess reads(int64_t buffer, int64_t bytes = 64) {
  return {buffer, {0, bytes}, false};
}
PlanAccess writes(int64_t buffer, int64_t bytes = 64) {
  return {buffer, {0, bytes}, true};
}

PlanCommand kernel(int64_t segment, std::vector<PlanAccess> accesses) {
  PlanCommand command;
  command.segment = segment;
  command.accesses = std::move(accesses);
  return command;
}

/// sum = 0; for each part: own = f(part), sum += own; result = sum.
Plan accumulation(int64_t microBatches) {
  Plan plan;
  plan.segments = {
      {"prologue"}, {"micro-batch", SegmentRuns::Each}, {"update"}};
  plan.microBatches = microBatches;
  plan.buffers.resize(4);
  for (PlanBuffer &buffer : plan.buffers)
    buffer.bytes = 64;
  PlanBuffer &input = plan.buffers[Input];
  input.kind = BufferKind::Input;
  input.cutDim = 0;
  input.parts = microBatches;
  input.bytes = 64 * microBatches;
  plan.buffers[Sum].isSum = true;
  plan.buffers[Result].kind = BufferKind::Output;
  for (PlanBuffer &buffer : plan.buffers) {
    buffer.offset = plan.arenaBytes;
    plan.arenaBytes += buffer.bytes;
  }
  plan.commands = {kernel(0, {writes(Sum)}),
                   kernel(1, {reads(Input), writes(Own)}),
                   kernel(1, {reads(Own), reads(Sum), writes(Sum)}),
                   kernel(2, {reads(Sum), writes(Result)})};
  return plan;
}

std::string faultOf(const Plan &plan) {
  std::optional<StepFault> fault =
      proveSchedule(writtenOut(plan, plan.microBatches).plan);
  return fault ? fault->message : "";
}

TEST(IssueOrder, RepeatsSegmentsForEachMicroBatch) {
  EXPECT_THAT(issueOrder(accumulation(3)), ElementsAre(0, 1, 2, 1, 2, 1, 2, 3));
  EXPECT_THAT(issueOrder(accumulation(1)), ElementsAre(0, 1, 2, 3));
}

TEST(IssueOrder, WritesOutPartsAndTemporariesOfEach) {
  WrittenOutStep step = writtenOut(accumulation(3), 3);
  EXPECT_THAT(step.commandOf, ElementsAre(0, 1, 2, 1, 2, 1, 2, 3));
  EXPECT_THAT(step.bufferOf, ElementsAre(Input, Sum, Own, Result, Own, Own));
  for (int64_t batch : {0, 1, 2}) {
    const PlanAccess &part = step.plan.commands[1 + 2 * batch].accesses[0];
    EXPECT_EQ(part.buffer, Input);
    EXPECT_EQ(part.part.begin, 64 * batch);
  }
  EXPECT_EQ(step.plan.microBatches, 1);
  EXPECT_EQ(step.plan.buffers[Input].bytes, 192);
}

TEST(IssueOrder, SumsOfMicroBatchesAreProved) {
  for (int64_t microBatches : {1, 2, 3, 7})
    EXPECT_EQ(faultOf(accumulation(microBatches)), "");
}

/// Each of these is wrong only because there is a second micro-batch.
TEST(IssueOrder, WhatTheNextMicroBatchNeedsMustStay) {
  Plan plan = accumulation(2);
  plan.buffers[Own].offset = *plan.buffers[Sum].offset;
  EXPECT_THAT(faultOf(plan), HasSubstr("after another has overwritten it"));

  plan = accumulation(2);
  plan.commands[2].accesses = {reads(Own), writes(Sum)};
  EXPECT_THAT(faultOf(plan), HasSubstr("written to the buffer before"));

  plan = accumulation(2);
  plan.commands.insert(plan.commands.begin() + 3,
                       kernel(1, {reads(Sum), writes(Result)}));
  plan.commands.pop_back();
  EXPECT_THAT(faultOf(plan), HasSubstr("after a command has read the sum"));

  plan = accumulation(2);
  plan.commands.erase(plan.commands.begin());
  EXPECT_THAT(faultOf(plan), HasSubstr("before anything has written it"));
}

PlanCommand event(CommandKind kind, int64_t number, int64_t stream) {
  PlanCommand command;
  command.segment = 1;
  command.kind = kind;
  command.event = number;
  command.stream = stream;
  return command;
}

/// The same sum, where the part is made on stream 1. The streams wait for each
/// other at both ends of the segment. The last part is added with the result.
Plan accumulationOnStreams(int64_t microBatches) {
  constexpr CommandKind record = CommandKind::EventRecord,
                        wait = CommandKind::EventWait;
  Plan plan = accumulation(microBatches);
  plan.numStreams = 2;
  plan.numEvents = 2;
  plan.segments[1].runs = SegmentRuns::AllButLast;
  plan.segments[2].runs = SegmentRuns::Last;
  plan.commands = {kernel(0, {writes(Sum)}),
                   event(record, 0, 0),
                   event(wait, 0, 1),
                   kernel(1, {reads(Input), writes(Own)}),
                   event(record, 1, 1),
                   event(wait, 1, 0),
                   kernel(1, {reads(Own), reads(Sum), writes(Sum)}),
                   kernel(2, {reads(Input), reads(Sum), writes(Result)})};
  plan.commands[3].stream = 1;
  return plan;
}

TEST(IssueOrder, TheLastMicroBatchHasItsOwnSegment) {
  Plan plan = accumulationOnStreams(3);
  EXPECT_THAT(issueOrder(plan),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 7));
  WrittenOutStep step = writtenOut(plan, 3);
  EXPECT_EQ(step.plan.commands[3].accesses[0].part.begin, 0);
  EXPECT_EQ(step.plan.commands[9].accesses[0].part.begin, 64);
  EXPECT_EQ(step.plan.commands[13].accesses[0].part.begin, 128);
}

TEST(IssueOrder, EventsOfEachMicroBatchAreItsOwn) {
  for (int64_t microBatches : {2, 3, 7})
    EXPECT_EQ(faultOf(accumulationOnStreams(microBatches)), "");
}

TEST(IssueOrder, StreamsOfAMicroBatchWaitForTheOneBefore) {
  // Stream 1 does not wait at the beginning: it writes what the micro-batch
  // before still reads.
  Plan plan = accumulationOnStreams(3);
  plan.commands.erase(plan.commands.begin() + 2);
  EXPECT_THAT(faultOf(plan), HasSubstr("may begin before a command has ended"));
  // Not even the second micro-batch.
  plan.microBatches = 2;
  plan.buffers[Input].parts = 2;
  EXPECT_EQ(faultOf(plan), "");
}

/// A temporary of one micro-batch is not alive in the next.
TEST(IssueOrder, MemoryIsThatOfOneMicroBatch) {
  Plan plan = accumulation(4);
  TraceRank rank;
  rank.streams.resize(1);
  double now = 0;
  for (int64_t command : issueOrder(plan)) {
    rank.streams[0].push_back({command, now, now + 1});
    now += 1;
  }
  MemoryUse use = memoryUse(plan, rank);
  int64_t lasting = 4 * 64 + 64, sum = 64, own = 64;
  EXPECT_EQ(use.peakBytes, lasting + sum + own);
  std::vector<double> before;
  for (const TraceSample &sample : use.curve)
    if (sample.seconds == 3)
      before.push_back(sample.value);
  // The first micro-batch's temporary is freed when the second's begins.
  EXPECT_THAT(before, ElementsAre(double(lasting + sum + own)));
}

} // namespace
